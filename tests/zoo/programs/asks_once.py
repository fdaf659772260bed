#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that asks another one once for each of its requests, which is no fault; recorded by threads, as a service is."""
import os
import socket
import time

PRICES, SHOP = 7402, 7403


def answer(port, work):
    with socket.create_server(("127.0.0.1", port)) as listener:
        client = listener.accept()[0]
        while client.recv(4):
            client.sendall(work())


def look_up():
    time.sleep(0.004)
    return b"12.5"


def price():
    prices.sendall(b"book")
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
        for _ in range(150):
            shop.sendall(b"book")
            shop.recv(4)


def begin(work, *args):
    child = os.fork()
    if not child:
        work(*args)
        os._exit(0)
    return child


children = [begin(answer, PRICES, look_up), begin(buy)]
with connect(PRICES) as prices:
    answer(SHOP, price)
for child in children:
    os.waitpid(child, 0)
