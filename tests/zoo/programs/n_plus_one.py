#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A row at a time is asked for, over one connection."""
import multiprocessing
import socket
import time


def serve(server):
    client, _ = server.accept()
    while client.recv(100):
        time.sleep(0.004)
        client.send(b"row")


with socket.create_server(("127.0.0.1", 0)) as listening:
    child = multiprocessing.Process(target=serve, args=(listening,))
    child.start()
    with socket.create_connection(listening.getsockname()) as db:
        for _ in range(300):
            db.send(b"select")
            db.recv(100)
    child.join()
