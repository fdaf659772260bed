#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A coroutine asks a service that answers nobody, gives up after a while, and asks again."""
import asyncio
import socket


async def ask_price(reader, writer):
    writer.write(b"price?\n")
    await writer.drain()
    try:
        await asyncio.wait_for(reader.readline(), 0.25)
    except asyncio.TimeoutError:
        return


async def main():
    listener = socket.create_server(("127.0.0.1", 7471))
    reader, writer = await asyncio.open_connection("127.0.0.1", 7471)
    for _ in range(8):
        await ask_price(reader, writer)
    writer.close()
    listener.close()


asyncio.run(main())
