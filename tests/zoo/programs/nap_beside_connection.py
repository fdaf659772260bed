# SPDX-License-Identifier: Apache-2.0
# A client is answered at once and then naps eight times; the server closes the connection only after that. The naps are its own.
import asyncio
import os
import socket
import time

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(5)
if os.fork() == 0:
    with open("/proc/self/comm", "w") as comm:
        comm.write("quoted")
    connection, _ = listener.accept()
    connection.recv(64)
    connection.sendall(b"42")
    time.sleep(0.9)
    connection.close()
    os._exit(0)


async def main():
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(b"q")
    await reader.read(64)
    for _ in range(8):
        await asyncio.sleep(0.1)
    await reader.read(1)

asyncio.run(main())
os.wait()
