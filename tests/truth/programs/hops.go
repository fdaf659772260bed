// SPDX-License-Identifier: Apache-2.0
// A server that asks stock for each request, in the goroutine that read it, and works: loop_hops.py.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

//go:noinline
func priceOrder() time.Duration {
	began := time.Now()
	for time.Since(began) < 3*time.Millisecond {
	}
	return time.Since(began)
}

func serve(client net.Conn, stock chan net.Conn, truth string) {
	var own time.Duration
	answer := make([]byte, 16)
	for lines := bufio.NewReader(client); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		connection := <-stock
		fmt.Fprint(connection, line)
		connection.Read(answer)
		stock <- connection
		took := priceOrder()
		if strings.TrimSpace(line) == "0" {
			own += took
		}
		fmt.Fprint(client, "ok\n")
	}
	if own > 0 {
		os.WriteFile(truth+".part", []byte(fmt.Sprint(own.Nanoseconds())), 0o600)
		os.Rename(truth+".part", truth)
	}
	client.Close()
}

// ADDRESS to listen at, of stock, how many connections to that, where to write the truth.
func main() {
	stock := make(chan net.Conn, 64)
	for range os.Args[3] {
		connection, err := net.Dial("tcp", os.Args[2])
		if err != nil {
			panic(err)
		}
		stock <- connection
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		panic(err)
	}
	for {
		client, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go serve(client, stock, os.Args[4])
	}
}
