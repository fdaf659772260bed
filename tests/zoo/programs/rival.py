#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""It may use one CPU, which other programs have most of the time."""
import os
import signal

CPU = min(os.sched_getaffinity(0))
HOGS = 6


def hog():
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        file.write("hog")
    while True:
        pass


def render():
    for _ in range(60):
        sum(number * number for number in range(100_000))


os.sched_setaffinity(0, {CPU})
hogs = []
for _ in range(HOGS):
    pid = os.fork()
    if not pid:
        hog()
    hogs.append(pid)
render()
for pid in hogs:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
