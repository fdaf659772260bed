#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Work that the kernel hands on to another thread, held against what both sides' own clocks say.

handed_on.py [--bound PERCENT] [--rounds N]        (WAKEPATH_BIN: the folder of the programs)

fuse    A process reads a file of a filesystem in user space, whose daemon computes and then sleeps for each read. The reader's time in its
        reads is the daemon's: computing, and its deliberate sleep.
"""
import argparse
import ctypes
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

FOLDER = "/var/tmp"
COMPUTE_S, SLEEP_S = 0.006, 0.004
INIT, LOOKUP, GETATTR, OPEN, READ, DESTROY = 26, 1, 3, 14, 15, 38
SILENT = 2, 42  # FORGET, BATCH_FORGET: they want no answer
DIRECT_IO = 1


def awake_ns():
    """On a processor, or runnable without one, so far."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        return sum(map(int, file.read().split()[:2]))


def attributes(node):
    """struct fuse_attr: the folder, and its file."""
    return struct.pack("<6Q10I", node, 1 << 20, 0, 0, 0, 0, 0, 0, 0, 0o40755 if node == 1 else 0o100644, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, told):
    """What include/uapi/linux/fuse.h wants; None: it cannot be asked that."""
    if opcode == INIT:
        return struct.pack("<4I2H2I2HI28x", 7, 31, 0, 0, 8, 8, 65536, 1, 16, 0, 0)
    if opcode == LOOKUP:
        return struct.pack("<4Q2I", 2, 0, 60, 60, 0, 0) + attributes(2)
    if opcode == GETATTR:
        return struct.pack("<Q2I", 60, 0, 0) + attributes(node)
    if opcode == OPEN:
        return struct.pack("<Q2I", 1, DIRECT_IO, 0)
    if opcode == READ:
        before = time.thread_time_ns()
        while time.thread_time_ns() - before < 1e9 * COMPUTE_S:
            pass
        told["computed"] += time.thread_time_ns() - before
        begun, awake = time.monotonic_ns(), awake_ns()
        time.sleep(SLEEP_S)
        told["slept"] += time.monotonic_ns() - begun - (awake_ns() - awake)
        return b"x" * 4096
    return None


def serve(device):
    """Until the filesystem is gone."""
    told = {"computed": 0, "slept": 0}
    while True:
        try:
            request = os.read(device, 1 << 17)
        except OSError:
            return told
        _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
        if opcode in SILENT:
            continue
        data = answer(opcode, node, told)
        os.write(device, struct.pack("<IiQ", 16 + len(data or b""), 0 if data is not None or opcode == DESTROY else -38, unique) + (data or b""))


def read_all(path, rounds):
    with open("/proc/self/comm", "w", encoding="ascii") as comm:
        comm.write("reader")
    file, spent = os.open(path, os.O_RDONLY), 0
    for i in range(rounds):
        begun = time.monotonic_ns()
        os.pread(file, 4096, 4096 * i)
        spent += time.monotonic_ns() - begun
    os.close(file)
    return spent


def play(folder, rounds):
    libc, place = ctypes.CDLL(None, use_errno=True), f"{folder}/mounted"
    os.mkdir(place)
    device = os.open("/dev/fuse", os.O_RDWR)
    if libc.mount(b"truth", place.encode(), b"fuse", 6, f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()):
        raise OSError(ctypes.get_errno(), "mount")
    answers, said = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(device)
        try:
            os.write(said, str(read_all(f"{place}/file", rounds)).encode())
        except OSError as error:
            print(error, file=sys.stderr)
        finally:
            libc.umount2(place.encode(), 2)  # MNT_DETACH
            os._exit(0)
    os.close(said)  # a child that says nothing leaves an end, not a wait
    with open("/proc/self/comm", "w", encoding="ascii") as comm:
        comm.write("daemon")
    told = serve(device)
    os.waitpid(pid, 0)
    told["read"] = int(os.read(answers, 64))
    with open(f"{folder}/truth.json", "w", encoding="ascii") as file:
        json.dump(told, file)


def record(rounds):
    """What the program knows, and the report's rows: (frames, ns)."""
    binaries = os.environ["WAKEPATH_BIN"]
    with tempfile.TemporaryDirectory(prefix="wakepath-truth-", dir=FOLDER) as folder:
        subprocess.run([f"{binaries}/wakepath", "record", "--quiet", "--out", f"{folder}/out", "--store", f"{folder}/store", "--release", "r",
                        "--aggregate", "truth=comm=reader", "--", sys.executable, os.path.abspath(__file__), "--play", folder,
                        "--rounds", str(rounds)], check=True, timeout=90, stdin=subprocess.DEVNULL)
        folded = subprocess.run([f"{binaries}/wakepath-reporter", "--store", f"{folder}/store", "--aggregate", "truth", "--format", "folded"],
                                check=True, capture_output=True, text=True, timeout=60).stdout
        with open(f"{folder}/truth.json", encoding="ascii") as file:
            truth = json.load(file)
    return truth, [(stack.split(";"), int(us)) for stack, _, us in (line.rpartition(" ") for line in folded.splitlines())]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bound", type=float, default=1, help="percent of the reads that a figure may be off")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--play")
    options = parser.parse_args()
    if options.play:
        play(options.play, options.rounds)
        return 0
    if not os.path.exists("/dev/fuse"):
        print("skipped: no /dev/fuse")
        return 77
    truth, rows = record(options.rounds)
    asked = [(frames, ns) for frames, ns in rows if any(re.match("sleep:p?read", frame) for frame in frames)]
    served = [(frames[frames.index("[daemon]"):], ns) for frames, ns in asked if "[daemon]" in frames]
    awake = [(frames, ns) for frames, ns in served if not any(frame.startswith("sched:") for frame in frames)]
    slept = sum(ns for frames, ns in awake if any(frame.startswith("sleep:clock_nanosleep") for frame in frames))
    told = {"read": sum(ns for _, ns in asked), "computed": sum(ns for _, ns in awake) - slept, "slept": slept}
    good = True
    for name, ns in told.items():
        off = 100 * abs(ns - truth[name]) / truth["read"]
        print(f"{name}: {truth[name] / 1e6:.3f} ms, in the report {ns / 1e6:.3f} ms: {off:.2f} % of the reads off", flush=True)
        good &= off <= options.bound
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
