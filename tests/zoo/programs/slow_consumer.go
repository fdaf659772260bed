// SPDX-License-Identifier: Apache-2.0
// Three goroutines fetch rows for one that takes its time over each: all of them wait for that, in channels.
package main

import "time"

//go:noinline
func fetchRows(jobs <-chan int, rows chan<- int) {
	for job := range jobs {
		rows <- job
	}
}

//go:noinline
func renderInvoice() {
	time.Sleep(20 * time.Millisecond)
}

func render(rows <-chan int) {
	for range rows {
		renderInvoice()
	}
}

func main() {
	jobs, rows := make(chan int), make(chan int)
	for worker := 0; worker < 3; worker++ {
		go fetchRows(jobs, rows)
	}
	go render(rows)
	for job := 0; job < 100; job++ {
		jobs <- job
	}
}
