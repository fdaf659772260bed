// SPDX-License-Identifier: Apache-2.0
// A dispatcher starts its worker, which calls it back; it asks on the connection that it accepted, one question after the other.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
)

//go:noinline
func appraise() {
	time.Sleep(30 * time.Millisecond)
}

func work(address string) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	questions := bufio.NewScanner(connection)
	for questions.Scan() {
		appraise()
		fmt.Fprintln(connection, "42")
	}
}

//go:noinline
func dispatch(connection net.Conn, answers *bufio.Scanner, item int) {
	fmt.Fprintln(connection, item)
	answers.Scan()
}

func main() {
	if len(os.Args) > 1 {
		work(os.Args[1])
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	worker := exec.Command("/proc/self/exe", listener.Addr().String())
	if err = worker.Start(); err != nil {
		panic(err)
	}
	connection, err := listener.Accept()
	if err != nil {
		panic(err)
	}
	answers := bufio.NewScanner(connection)
	for item := 0; item < 60; item++ {
		dispatch(connection, answers, item)
	}
	connection.Close()
	worker.Wait()
}
