// SPDX-License-Identifier: Apache-2.0
// Goroutines that sleep in every way that Go has, each at a pace of its own: go_fixture SECONDS FILE. The file gets a line a sleep:
// the function that it is in, when it begins and when it is due, in nanoseconds of CLOCK_MONOTONIC.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

type nap struct {
	where      string
	begin, due int64
}

var (
	guard sync.Mutex
	naps  []nap
	never = make(chan int)
)

func now() int64 {
	var at syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

func note(where string, begin int64, pace time.Duration) {
	guard.Lock()
	naps = append(naps, nap{where, begin, begin + int64(pace)})
	guard.Unlock()
}

//go:noinline
func napSleep(pace time.Duration) {
	time.Sleep(pace)
}

//go:noinline
func napAfter(pace time.Duration) {
	<-time.After(pace)
}

//go:noinline
func napSelect(pace time.Duration) {
	select {
	case <-never:
	case <-time.After(pace):
	}
}

//go:noinline
func napTick(ticker *time.Ticker) {
	<-ticker.C
}

// A read that times out: nobody's timer that sleeps.
//
//go:noinline
func napDeadline(peer net.Conn, pace time.Duration) {
	peer.SetReadDeadline(time.Now().Add(pace))
	peer.Read(make([]byte, 1))
}

func loop(where string, pace time.Duration, nap func(time.Duration)) {
	for {
		note(where, now(), pace)
		nap(pace)
	}
}

func tick(pace time.Duration) {
	begin := now()
	ticker := time.NewTicker(pace)
	for due := begin + int64(pace); ; due += int64(pace) {
		begin = now()
		note("napTick", begin, time.Duration(due-begin))
		napTick(ticker)
	}
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	peer, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	go loop("napSleep", 17*time.Millisecond, napSleep)
	go loop("napAfter", 29*time.Millisecond, napAfter)
	go loop("napSelect", 41*time.Millisecond, napSelect)
	go loop("napDeadline", 67*time.Millisecond, func(pace time.Duration) { napDeadline(peer, pace) })
	go tick(53 * time.Millisecond)
	time.Sleep(time.Duration(seconds * 1e9))
	guard.Lock()
	file, err := os.Create(os.Args[2])
	if err != nil {
		panic(err)
	}
	for _, n := range naps {
		fmt.Fprintln(file, n.where, n.begin, n.due)
	}
	file.Close()
}
