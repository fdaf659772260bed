#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A worker of a pool waits for a child of its own."""
import multiprocessing
import subprocess


def transcode(seconds):
    subprocess.run(["sleep", seconds], check=True)


if __name__ == "__main__":
    with multiprocessing.Pool(1) as pool:
        pool.map(transcode, ["0.8", "0.4"])
