// SPDX-License-Identifier: Apache-2.0
// Eight goroutines share two sessions, which a condition variable hands out.
package main

import (
	"sync"
	"time"
)

type sessions struct {
	lock  sync.Mutex
	freed *sync.Cond
	idle  int
}

//go:noinline
func (s *sessions) acquire() {
	s.lock.Lock()
	for s.idle == 0 {
		s.freed.Wait()
	}
	s.idle--
	s.lock.Unlock()
}

func (s *sessions) release() {
	s.lock.Lock()
	s.idle++
	s.lock.Unlock()
	s.freed.Signal()
}

//go:noinline
func runStatement() {
	time.Sleep(20 * time.Millisecond)
}

//go:noinline
func serve(s *sessions) {
	for i := 0; i < 12; i++ {
		s.acquire()
		runStatement()
		s.release()
	}
}

func main() {
	s := &sessions{idle: 2}
	s.freed = sync.NewCond(&s.lock)
	var all sync.WaitGroup
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			serve(s)
		}()
	}
	all.Wait()
}
