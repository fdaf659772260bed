#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server of asyncio that blocks its loop, and its clients. Writes down, by CLOCK_MONOTONIC, what its loop ran or slept in, when, and how long it
had no CPU in it (the scheduler's account); and of each request when it was sent and read: busy_loop.py TRUTH CLIENTS REQUESTS."""
import asyncio
import json
import os
import socket
import sys
import time

PACE_S = (0.004, 0.007, 0.011)  # between the requests of a client


class Shop:
    def __init__(self, clients):
        self.work, self.reads, self.left, self.over = [], [], clients, None
        self.account = os.open("/proc/thread-self/schedstat", os.O_RDONLY)

    def now(self):
        return time.monotonic_ns(), int(os.pread(self.account, 100, 0).split()[1])

    def did(self, what, since):
        now = self.now()
        self.work.append((what, since[0], now[0], now[1] - since[1]))

    def price_order(self, seconds):
        since = self.now()
        while time.monotonic_ns() < since[0] + int(seconds * 1e9):
            pass
        self.did("price_order", since)

    def fetch_stock(self, seconds):
        since = self.now()
        time.sleep(seconds)
        self.did("fetch_stock", since)

    async def answer(self, connection, number):
        if number % 5 == 0:
            self.price_order(0.020)
        elif number % 5 == 2:
            self.fetch_stock(0.008)
        connection.write(b"%d\n" % number)


class Connection(asyncio.Protocol):
    def __init__(self, shop):
        self.shop, self.transport, self.waits = shop, None, set()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.shop.reads.append((int(data.split(b":")[0]), int(data.split(b":")[1]), time.monotonic_ns()))
        task = asyncio.get_running_loop().create_task(self.shop.answer(self.transport, int(data.split(b":")[1])))
        self.waits.add(task)
        task.add_done_callback(self.waits.discard)

    def connection_lost(self, error):
        self.shop.left -= 1
        if not self.shop.left:
            self.shop.over.set_result(None)


def buy(port, client, count, out):
    """A client: its requests, one at a time."""
    sent = []
    with socket.create_connection(("127.0.0.1", port)) as server:
        for number in range(count):
            time.sleep(PACE_S[(number + client) % len(PACE_S)])
            before = time.monotonic_ns()
            server.sendall(b"%d:%d" % (client, number))
            sent.append((client, number, before, time.monotonic_ns()))
            while not server.recv(100).endswith(b"\n"):
                pass
    with open(f"{out}.{client}", "w", encoding="ascii") as file:
        json.dump(sent, file)


async def serve(shop, listener):
    loop = asyncio.get_running_loop()
    shop.over = loop.create_future()
    async with await loop.create_server(lambda: Connection(shop), sock=listener):
        await shop.over


def main():
    out, clients, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    shop, children = Shop(clients), []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for client in range(clients):
            children.append(os.fork())
            if not children[-1]:
                port = listener.getsockname()[1]
                listener.close()
                buy(port, client, count, out)
                os._exit(0)
        asyncio.run(serve(shop, listener))
    for child in children:
        os.waitpid(child, 0)
    sent = []
    for client in range(clients):
        with open(f"{out}.{client}", encoding="ascii") as file:
            sent += json.load(file)
    with open(out, "w", encoding="ascii") as file:
        json.dump({"work": shop.work, "reads": shop.reads, "sent": sent}, file)


if __name__ == "__main__":
    main()
