#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Head and body of a request leave by two writes."""
import multiprocessing
import socket


def serve(server):
    client, _ = server.accept()
    left = 200
    while data := client.recv(left):
        left -= len(data)
        if not left:
            client.send(b"done")
            left = 200


with socket.create_server(("127.0.0.1", 0)) as listening:
    child = multiprocessing.Process(target=serve, args=(listening,))
    child.start()
    with socket.create_connection(listening.getsockname()) as api:
        for _ in range(50):
            api.send(b"h" * 100)
            api.send(b"b" * 100)
            api.recv(100)
    child.join()
