// SPDX-License-Identifier: Apache-2.0
// A file's lock is held by a child, which pauses.
package main

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

//go:noinline
func lockState(file *os.File) {
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		panic(err)
	}
}

func main() {
	child := exec.Command("sh", "-c", "exec 9>state.lock; flock 9; : >held; sleep 1.8")
	if err := child.Start(); err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat("held"); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	file, err := os.OpenFile("state.lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	lockState(file)
	child.Wait()
}
