#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers of several languages, which a client asks: the findings name the function, and its line, that each request waits in."""
import os
import shutil
import socket
import subprocess
import sys

from recording import RecordTest, main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "collector"))
from served_fixture import POOL, fastcgi_question  # pylint: disable=wrong-import-position

CLIENT = """import socket, subprocess, sys, time
port, question, count, command = int(sys.argv[1]), open(sys.argv[2], "rb").read(), int(sys.argv[3]), sys.argv[4:]
def ask():
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(question)
        while client.recv(65536):
            pass
with subprocess.Popen(command) as server:
    while server.poll() is None:
        try:
            ask()
            break
        except OSError:
            time.sleep(0.01)
    for _ in range(count):
        ask()
    server.terminate()
"""
WSGI = """import time
def load_orders():
    time.sleep(0.008)
def application(environ, start_response):
    load_orders()
    start_response("200 OK", [])
    return [b"orders"]
"""
ASYNCIO = """import asyncio, os, signal, socket, sys, time
def load_orders():
    time.sleep(0.008)
async def answer(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    await asyncio.sleep(0)
    load_orders()
    writer.write(b"HTTP/1.0 200 OK\\r\\n\\r\\norders")
    await writer.drain()
    writer.close()
async def serve(listener):
    async with await asyncio.start_server(answer, sock=listener) as server:
        await server.serve_forever()
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
worker = os.fork()
if not worker:
    asyncio.run(serve(listener))
signal.signal(signal.SIGTERM, lambda *_: os.kill(worker, signal.SIGKILL))
os.waitpid(worker, 0)
"""
PHP = """<?php
function load_orders(): void
{
    usleep(8000);
}
load_orders();
echo "orders";
"""
NODE = """const cell = new Int32Array(new SharedArrayBuffer(4));
function loadOrders() {
    Atomics.wait(cell, 0, 0, 8);
}
require("http").createServer((request, response) => {
    loadOrders();
    response.end("orders");
}).listen(Number(process.argv[2]), "127.0.0.1");
"""
JAVA = """import com.sun.net.httpserver.*;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
public class Shop {
    static void loadOrders() throws Exception {
        Thread.sleep(8);
    }
    static void answer(HttpExchange exchange) {
        try {
            loadOrders();
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }
    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 16);
        server.createContext("/", Shop::answer);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
    }
}
"""
RACK = """def load_orders
  sleep 0.008
end
run lambda { |environment|
  load_orders
  [200, {}, ["orders"]]
}
"""
QUESTION = b"GET / HTTP/1.0\r\n\r\n"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


class Servers(RecordTest):
    def ask(self, port, command, question=QUESTION):
        """What is said of a client of the server."""
        with open(self.path("question"), "wb") as file:
            file.write(question)
        self.record([sys.executable, self.write("client.py", CLIENT), port, self.path("question"), "150", *command])
        return "\n".join(row["sentence"] for row in self.summary()["explanations"])

    def test_gunicorn(self):
        port = free_port()
        self.write("shop.py", WSGI)
        said = self.ask(port, [shutil.which("gunicorn"), "--bind", "127.0.0.1:" + port, "--workers", "2", "--chdir", self.folder, "shop:application"])
        self.assertIn("`load_orders` (shop.py:3)", said)

    def test_asyncio(self):
        port = free_port()
        self.assertIn("`load_orders` (shop.py:3)", self.ask(port, [sys.executable, self.write("shop.py", ASYNCIO), port]))

    def test_php_fpm(self):
        port, script = free_port(), self.write("shop.php", PHP)
        pool = self.write("pool", POOL.format(self.folder).replace(self.folder + "/socket", "127.0.0.1:" + port))
        said = self.ask(port, [shutil.which("php-fpm8.2"), "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", pool], fastcgi_question(script))
        self.assertIn("`load_orders` (shop.php:4)", said)

    def test_node(self):
        port = free_port()
        self.assertIn("`loadOrders` (shop.js:3)", self.ask(port, [shutil.which("node"), self.write("shop.js", NODE), port]))

    def test_java(self):
        port, source = free_port(), self.write("Shop.java", JAVA)
        subprocess.run(["javac", "-d", self.folder, source], check=True)
        self.assertIn("`Shop.loadOrders` (Shop.java:6)", self.ask(port, [shutil.which("java"), "-cp", self.folder, "Shop", port]))

    def test_puma(self):
        port, script = free_port(), self.write("shop.ru", RACK)
        said = self.ask(port, [shutil.which("puma"), "--quiet", "--environment", "production", "--threads", "2:2", "--bind", "tcp://127.0.0.1:" + port, script])
        self.assertIn("`load_orders` (shop.ru:2)", said)


if __name__ == "__main__":
    main()
