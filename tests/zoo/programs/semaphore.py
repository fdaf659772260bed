#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight threads share two slots."""
import threading
import time

slots = threading.BoundedSemaphore(2)


def query():
    for _ in range(12):
        with slots:
            time.sleep(0.03)


threads = [threading.Thread(target=query) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
