// SPDX-License-Identifier: Apache-2.0
// A client asks a server, another process, whose handler takes its time; beside that the server has a ticker.
package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"
)

var beats int

func slowQuote(w http.ResponseWriter, r *http.Request) {
	time.Sleep(60 * time.Millisecond)
	w.Write([]byte("42"))
}

func beat() {
	for range time.Tick(400 * time.Millisecond) {
		beats++
	}
}

func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/", slowQuote)
	go beat()
	fmt.Println(listener.Addr())
	http.Serve(listener, nil)
}

func main() {
	if len(os.Args) > 1 {
		serve()
	}
	server := exec.Command(os.Args[0], "serve")
	says, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		panic(err)
	}
	where, _, _ := bufio.NewReader(says).ReadLine()
	for i := 0; i < 20; i++ {
		answer, err := http.Get("http://" + string(where) + "/")
		if err != nil {
			panic(err)
		}
		answer.Body.Close()
	}
	server.Process.Kill()
	server.Wait()
}
