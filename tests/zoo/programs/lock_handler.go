// SPDX-License-Identifier: Apache-2.0
// Workers look up prices under a lock, and who has it asks a server of the same process, whose handler takes its time.
package main

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

type prices struct {
	mu    sync.Mutex
	known map[int]string
}

func slowQuote(w http.ResponseWriter, r *http.Request) {
	time.Sleep(60 * time.Millisecond)
	io.WriteString(w, "42")
}

func fetchQuote(url string) string {
	answer, err := http.Get(url)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

func (p *prices) lookUp(item int, url string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, is := p.known[item]; !is {
		p.known[item] = fetchQuote(url)
	}
	return p.known[item]
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/", slowQuote)
	go http.Serve(listener, nil)
	var all sync.WaitGroup
	shop := &prices{known: map[int]string{}}
	for worker := 0; worker < 3; worker++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			for item := 0; item < 6; item++ {
				shop.lookUp(6*worker+item, "http://"+listener.Addr().String()+"/")
			}
		}(worker)
	}
	all.Wait()
}
