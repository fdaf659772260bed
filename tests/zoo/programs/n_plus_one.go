// SPDX-License-Identifier: Apache-2.0
// One price after the other is asked over HTTP.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
)

const address = "127.0.0.1:7393"

func serve() {
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		sum := 0
		for i := 0; i < 300000; i++ {
			sum += i * i
		}
		fmt.Fprint(answer, sum)
	})
	panic(http.ListenAndServe(address, nil))
}

func loadPrice(item int) {
	for {
		answer, err := http.Get(fmt.Sprintf("http://%s/price/%d", address, item))
		if err != nil {
			continue
		}
		_, _ = io.ReadAll(answer.Body)
		answer.Body.Close()
		return
	}
}

func main() {
	if len(os.Args) > 1 {
		serve()
	}
	service := exec.Command(os.Args[0], "serve")
	if err := service.Start(); err != nil {
		panic(err)
	}
	for item := 0; item < 1200; item++ {
		loadPrice(item)
	}
	_ = service.Process.Kill()
}
