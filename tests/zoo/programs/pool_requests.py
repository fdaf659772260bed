#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight clients of a server whose threads share two connections: a request waits for one most of its time; recorded by threads, as a service
is."""
import os
import queue
import socket
import threading
import time

PORT = 7401
connections = queue.Queue()


def checkout():
    return connections.get()


def run_query(connection):
    time.sleep(0.02)
    return b"%03d" % connection


def order():
    connection = checkout()
    try:
        return run_query(connection)
    finally:
        connections.put(connection)


def serve(client):
    while client.recv(4):
        client.sendall(order())


def ask():
    with socket.create_connection(("127.0.0.1", PORT)) as server:
        for _ in range(30):
            server.sendall(b"next")
            server.recv(4)


def all_at_once(work, each):
    threads = [threading.Thread(target=work, args=args) for args in each]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


for number in range(2):
    connections.put(number)
with socket.create_server(("127.0.0.1", PORT)) as listener:
    child = os.fork()
    if not child:
        all_at_once(ask, [()] * 8)
        os._exit(0)
    all_at_once(serve, [(listener.accept()[0],) for _ in range(8)])
    os.waitpid(child, 0)
