#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A producer whose queue is full: the process that takes from it is slow."""
import multiprocessing
import time


def store_item(item):
    time.sleep(0.05)
    return item


def consume(queue):
    while queue.get() is not None:
        store_item(queue)


if __name__ == "__main__":
    waiting = multiprocessing.Queue(2)
    consumer = multiprocessing.Process(target=consume, args=(waiting,))
    consumer.start()
    for number in range(30):
        waiting.put(number)
    waiting.put(None)
    consumer.join()
