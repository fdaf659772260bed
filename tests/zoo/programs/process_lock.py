#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four processes share a lock, which each holds while its entry goes to the disk."""
import multiprocessing
import os
import tempfile


def append_entry(lock, file):
    with lock:
        file.write(b"x" * 65536)
        file.flush()
        os.fsync(file.fileno())


def work(lock, folder, number):
    with open(os.path.join(folder, f"entries.{number}"), "wb") as file:
        for _ in range(100):
            append_entry(lock, file)


def main():
    lock = multiprocessing.Lock()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        workers = [multiprocessing.Process(target=work, args=(lock, folder, number)) for number in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


main()
