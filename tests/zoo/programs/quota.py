#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Its group may use a fifth of a CPU."""
import os

GROUPS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")


def put(folder, name, value):
    with open(f"{folder}/{name}", "w", encoding="ascii") as file:
        file.write(str(value))


def make_group():
    for root in GROUPS:
        folder = f"{root}/wakepath-zoo-{os.getpid()}"
        try:
            os.mkdir(folder)
        except OSError:
            continue
        try:
            if os.path.exists(f"{folder}/cpu.cfs_quota_us"):
                put(folder, "cpu.cfs_quota_us", 20000)
            else:
                put(folder, "cpu.max", "20000 100000")
            return folder
        except OSError:
            os.rmdir(folder)
    raise SystemExit("no cgroup has a quota here")


def render(rounds):
    for _ in range(rounds):
        sum(number * number for number in range(100_000))


group = make_group()
pid = os.fork()
if not pid:
    put(group, "cgroup.procs", os.getpid())
    render(60)
    os._exit(0)
os.waitpid(pid, 0)
os.rmdir(group)
