// SPDX-License-Identifier: Apache-2.0
// A file is synced while all accounts are locked.
package main

import (
	"os"
	"sync"
)

var accounts sync.Mutex

func writeAudit(file *os.File) {
	if _, err := file.WriteAt([]byte("x"), 0); err != nil {
		panic(err)
	}
	if err := file.Sync(); err != nil {
		panic(err)
	}
}

func transfer(file *os.File) {
	accounts.Lock()
	defer accounts.Unlock()
	writeAudit(file)
}

func main() {
	file, err := os.Create("audit.log")
	if err != nil {
		panic(err)
	}
	var group sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		group.Add(1)
		go func() {
			for i := 0; i < 100; i++ {
				transfer(file)
			}
			group.Done()
		}()
	}
	group.Wait()
}
