// SPDX-License-Identifier: Apache-2.0
// Each record is made durable by itself.
package main

import "os"

//go:noinline
func appendRecord(journal *os.File, record []byte) {
	if _, err := journal.Write(record); err != nil {
		panic(err)
	}
	if err := journal.Sync(); err != nil {
		panic(err)
	}
}

func main() {
	journal, err := os.Create("orders.journal")
	if err != nil {
		panic(err)
	}
	record := make([]byte, 4096)
	for i := 0; i < 4000; i++ {
		appendRecord(journal, record)
	}
}
