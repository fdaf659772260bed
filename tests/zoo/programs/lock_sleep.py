#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four threads pause under one lock."""
import threading
import time

lock = threading.Lock()


def update():
    for _ in range(50):
        with lock:
            time.sleep(0.008)


threads = [threading.Thread(target=update) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
