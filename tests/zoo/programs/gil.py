#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four threads compute in an interpreter that runs one at a time."""
import threading


def digest():
    total = 0
    for number in range(4_000_000):
        total += number * number % 7
    return total


threads = [threading.Thread(target=digest) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
