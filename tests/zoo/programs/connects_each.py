#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that asks another one by a new connection for each of its requests; recorded by threads, as a service is."""
import os
import socket
import time

PRICES, SHOP = 7405, 7406


def sell():
    with socket.create_server(("127.0.0.1", PRICES)) as listener:
        while True:
            client = listener.accept()[0]
            if client.recv(4) == b"stop":
                return
            time.sleep(0.004)
            client.sendall(b"12.5")
            client.close()


def look_up(what):
    with connect(PRICES) as prices:
        prices.sendall(what)
        return prices.recv(4)


def connect(port):
    for _ in range(500):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.01)
    raise TimeoutError


def buy():
    with connect(SHOP) as shop:
        for _ in range(200):
            shop.sendall(b"book")
            shop.recv(4)


def serve():
    with socket.create_server(("127.0.0.1", SHOP)) as listener:
        client = listener.accept()[0]
        while client.recv(4):
            client.sendall(look_up(b"book"))


def begin(work):
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return child


children = [begin(sell), begin(buy)]
serve()
look_up(b"stop")
for child in children:
    os.waitpid(child, 0)
