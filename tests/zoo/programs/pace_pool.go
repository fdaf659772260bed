// SPDX-License-Identifier: Apache-2.0
// Workers pause after each picture, one of them for long; a ticker and a deadline that nothing waits for go on beside them.
package main

import (
	"context"
	"sync"
	"time"
)

var beats int

func coolDown(worker int) {
	pause := 10 * time.Millisecond
	if worker == 0 {
		pause = 90 * time.Millisecond
	}
	select {
	case <-time.After(pause):
	case <-context.Background().Done():
	}
}

func beat(ticks <-chan time.Time) {
	for range ticks {
		beats++
	}
}

func main() {
	var all sync.WaitGroup
	deadline, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go beat(time.Tick(250 * time.Millisecond))
	for worker := 0; worker < 3; worker++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			for picture := 0; picture < 12 && deadline.Err() == nil; picture++ {
				coolDown(worker)
			}
		}(worker)
	}
	all.Wait()
}
