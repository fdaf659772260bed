#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight threads share two connections, which a queue holds."""
import queue
import threading
import time

connections = queue.Queue()


def checkout():
    return connections.get()


def query():
    connection = checkout()
    time.sleep(0.02)
    connections.put(connection)


def work():
    for _ in range(12):
        query()


connections.put(1)
connections.put(2)
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
