// SPDX-License-Identifier: Apache-2.0
// One child after the other does what could be done at once.
package main

import "os/exec"

func runHook() {
	if err := exec.Command("sleep", "0.4").Run(); err != nil {
		panic(err)
	}
}

func main() {
	for i := 0; i < 4; i++ {
		runHook()
	}
}
