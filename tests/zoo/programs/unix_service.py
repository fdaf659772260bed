#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A service behind a local socket takes its time."""
import multiprocessing
import socket
import time


def serve(sock):
    while sock.recv(100):
        time.sleep(0.02)
        sock.send(b"ok")


here, there = socket.socketpair()
child = multiprocessing.Process(target=serve, args=(there,))
child.start()
there.close()
with here:
    for _ in range(80):
        here.send(b"?")
        here.recv(100)
child.kill()
child.join()
