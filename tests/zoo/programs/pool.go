// SPDX-License-Identifier: Apache-2.0
// Eight goroutines share two connections, which are threads of their own while they are used.
package main

import (
	"os/exec"
	"sync"
)

var connections = make(chan int, 2)

//go:noinline
func checkOut() int {
	return <-connections
}

func query() {
	connection := checkOut()
	if err := exec.Command("sleep", "0.05").Run(); err != nil {
		panic(err)
	}
	connections <- connection
}

func main() {
	var all sync.WaitGroup
	connections <- 1
	connections <- 2
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := 0; n < 6; n++ {
				query()
			}
		}()
	}
	all.Wait()
}
