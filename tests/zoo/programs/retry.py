#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nobody answers, and it is asked again."""
import socket

with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_connection(silent.getsockname()) as client:
    client.settimeout(0.3)
    for _ in range(7):
        client.send(b"?")
        try:
            client.recv(1)
        except TimeoutError:
            pass
