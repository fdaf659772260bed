#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coroutines ask four services of a page, one after the other, though none needs another's answer."""
import asyncio
import os
import socket
import time

SERVICES = 4


def serve(listener):
    peer, _ = listener.accept()
    while peer.recv(16):
        time.sleep(0.02)
        peer.sendall(b"answer\n")


async def ask(reader, writer):
    writer.write(b"question\n")
    await writer.drain()
    await reader.readline()


async def render_page(services):
    for reader, writer in services:
        await ask(reader, writer)


async def main():
    listeners = []
    for _ in range(SERVICES):
        listener = socket.create_server(("127.0.0.1", 0))
        if not os.fork():
            serve(listener)
            os._exit(0)
        listeners.append(listener)
    services = [await asyncio.open_connection(*listener.getsockname()) for listener in listeners]
    for _ in range(15):
        await render_page(services)


asyncio.run(main())
