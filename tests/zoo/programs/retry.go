// SPDX-License-Identifier: Apache-2.0
// Nobody answers, and it is asked again.
package main

import (
	"net"
	"time"
)

//go:noinline
func askPeer(peer net.Conn) {
	answer := make([]byte, 1)
	if _, err := peer.Write([]byte("?")); err != nil {
		panic(err)
	}
	if err := peer.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		panic(err)
	}
	if _, err := peer.Read(answer); err == nil {
		panic("an answer")
	}
}

func main() {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	peer, err := net.Dial("tcp", silent.Addr().String())
	if err != nil {
		panic(err)
	}
	for i := 0; i < 7; i++ {
		askPeer(peer)
	}
}
