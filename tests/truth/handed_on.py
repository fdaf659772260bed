#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Work that the kernel hands on to another thread, held against what both sides' own clocks say.

handed_on.py [--bound PERCENT|CASE=PERCENT ...] [--rounds N] [CASE ...]        (WAKEPATH_BIN: the folder of the programs)

fuse    A process reads a file of a filesystem in user space, whose daemon computes and then sleeps for each read. The reader's time in its
        reads is the daemon's: computing, and its deliberate sleep.
disk    It asks for what the kernel hands on; each sleep has its place.
        uring       Reads past the page cache by io_uring: at the disk, or in its queue.
        punted      An fsync that io_uring hands to a worker of its own: that worker's time.
        aio         An fsync that AIO hands to a work queue of the kernel: the time of the worker that takes it.
        throttled   Writes on a device that may have few dirty pages: throttled, or for what the filesystem waits for.
        journal     An fsync of a little change, on a loop device, while another process writes much and does the same: the journal's thread's time,
                at the disk, or a path that is named.
"""
import argparse
import ctypes
import json
import mmap
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

from kernel_waits import Sleeper, hold_sleeps, total

FOLDER, MKFS = "/var/tmp", "/sbin/mkfs.ext4"
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
        before = time.thread_time_ns()
        _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
        if opcode in SILENT:
            continue
        data = answer(opcode, node, told)
        told["computed"] += time.thread_time_ns() - before if opcode == READ else 0
        os.write(device, struct.pack("<IiQ", 16 + len(data or b""), 0 if data is not None or opcode == DESTROY else -38, unique) + (data or b""))


class Ring:
    """An io_uring with one request at a time (include/uapi/linux/io_uring.h)."""
    SETUP, ENTER, GETEVENTS, FSYNC, READ = 425, 426, 1, 3, 22

    def __init__(self, libc):
        self.libc, told = libc, bytearray(120)
        self.fd = libc.syscall(self.SETUP, 4, (ctypes.c_char * 120).from_buffer(told))
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "io_uring_setup")
        _, self.sq_tail, self.sq_mask, _, _, _, self.sq_array = struct.unpack_from("<7I", told, 40)
        self.cq_head, self.cq_tail, self.cq_mask, _, _, self.cqes = struct.unpack_from("<6I", told, 80)
        self.ring = mmap.mmap(self.fd, max(self.cqes + 8 * 16, self.sq_array + 4 * 4), offset=0)
        self.entries = mmap.mmap(self.fd, 4 * 64, offset=0x10000000)

    def word(self, at):
        return struct.unpack_from("<I", self.ring, at)[0]

    def do(self, opcode, file, address=0, size=0, offset=0):
        """The request's result."""
        tail = self.word(self.sq_tail)
        at = tail & self.word(self.sq_mask)
        struct.pack_into("<BBHiQQII32x", self.entries, 64 * at, opcode, 0, 0, file, offset, address, size, 0)
        struct.pack_into("<I", self.ring, self.sq_array + 4 * at, at)
        struct.pack_into("<I", self.ring, self.sq_tail, (tail + 1) & 0xffffffff)
        self.libc.syscall(self.ENTER, self.fd, 1, 1, self.GETEVENTS, None, 0)
        head = self.word(self.cq_head)
        result = struct.unpack_from("<i", self.ring, self.cqes + 16 * (head & self.word(self.cq_mask)) + 8)[0]
        struct.pack_into("<I", self.ring, self.cq_head, (head + 1) & 0xffffffff)
        if result < 0:
            raise OSError(-result, f"io_uring, operation {opcode}")
        return result


class Aio:
    """One request at a time (include/uapi/linux/aio_abi.h)."""
    SETUP, GETEVENTS, SUBMIT, FSYNC = 206, 208, 209, 2

    def __init__(self, libc):
        self.libc, self.context = libc, ctypes.c_ulong(0)
        if libc.syscall(self.SETUP, 4, ctypes.byref(self.context)):
            raise OSError(ctypes.get_errno(), "io_setup")

    def fsync(self, file):
        request = ctypes.create_string_buffer(struct.pack("<QIIHHIQQQQII", 0, 0, 0, self.FSYNC, 0, file, 0, 0, 0, 0, 0, 0))
        requests, event = (ctypes.c_void_p * 1)(ctypes.addressof(request)), ctypes.create_string_buffer(32)
        if self.libc.syscall(self.SUBMIT, self.context, 1, requests) != 1:
            raise OSError(ctypes.get_errno(), "io_submit")
        if self.libc.syscall(self.GETEVENTS, self.context, 1, 1, event, None) != 1:
            raise OSError(ctypes.get_errno(), "io_getevents")


def call_myself(name):
    with open("/proc/thread-self/comm", "w", encoding="ascii") as comm:
        comm.write(name)


def write_much(path, started, rounds):
    """As soon as somebody says so."""
    call_myself("bulk")
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    data = os.urandom(1 << 20)
    if not os.read(started, 1):  # nobody asks any more
        return
    end_s = time.monotonic() + 0.03 * rounds
    while time.monotonic() < end_s:
        os.ftruncate(file, 0)
        os.pwrite(file, data, 0)
        os.fsync(file)


def limit_writeback(path, limits):
    """What the device below may have of pages that are to be written. False: this kernel has no such limit (Linux 6.3)."""
    device = os.stat(path).st_dev
    folder = f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}"
    if not os.path.exists(f"{folder}/max_bytes"):
        return False
    for name, value in limits.items():
        with open(f"{folder}/{name}", "w", encoding="ascii") as file:
            file.write(str(value))
    return True


def ask_disk(folder, journaled, rounds):
    """How long each kind of request slept."""
    libc, told = ctypes.CDLL(None, use_errno=True), {"uring": [], "punted": [], "aio": [], "journal": []}
    started, start = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(start)
        try:
            write_much(f"{journaled}/bulk", started, rounds)
        finally:
            os._exit(0)
    file, log = (os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for path in (f"{folder}/data", f"{journaled}/log"))
    size = 4 << 20 # so that a disk of any speed takes longer than a clock is wrong
    piece = os.urandom(size)
    for _ in range(rounds):
        os.write(file, piece)
    os.fsync(file)
    direct, buffer, ring, aio = os.open(f"{folder}/data", os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, size), Ring(libc), Aio(libc)
    address, sleeper = ctypes.addressof(ctypes.c_char.from_buffer(buffer)), Sleeper()
    call_myself("reader")
    for i in range(rounds):
        told["uring"].append(sleeper.spent(lambda i=i: ring.do(Ring.READ, direct, address, size, i * size)))
        os.pwrite(file, piece, i * size)
        told["punted"].append(sleeper.spent(lambda: ring.do(Ring.FSYNC, file)))
        os.pwrite(file, piece, i * size)
        told["aio"].append(sleeper.spent(lambda: aio.fsync(file)))
    if limit_writeback(journaled, {"strict_limit": 1, "max_bytes": 4 << 20}):
        fill, data = os.open(f"{journaled}/fill", os.O_RDWR | os.O_CREAT, 0o600), os.urandom(1 << 20)
        told["throttled"] = [sleeper.spent(lambda: os.write(fill, data)) for _ in range(rounds)]
    os.write(start, b"x")
    for i in range(rounds):
        time.sleep(0.01)
        os.pwrite(log, b"x" * 4096, i << 12)
        told["journal"].append(sleeper.spent(lambda: os.fsync(log)))
    call_myself("done")
    os.waitpid(pid, 0)
    return {name: total(spent) for name, spent in told.items()}


def play_disk(folder, rounds):
    """A file with a filesystem that has a journal is mounted from a loop device."""
    image, place = f"{folder}/image", f"{folder}/journaled"
    os.mkdir(place)
    with open(image, "wb") as file:
        file.truncate(max(96, 48 + rounds) << 20)  # a journal, and a piece of each round
    subprocess.run([MKFS, "-q", "-F", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)
    try:
        told = ask_disk(folder, place, rounds)
    finally:
        try:
            limit_writeback(place, {"strict_limit": 0, "max_ratio": 100})  # the device outlives its file
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)
    with open(f"{folder}/truth.json", "w", encoding="ascii") as file:
        json.dump(told, file)


def read_all(path, rounds):
    call_myself("reader")
    file, spent = os.open(path, os.O_RDONLY), 0
    for i in range(rounds):
        begun = time.monotonic_ns()
        os.pread(file, 4096, 4096 * i)
        spent += time.monotonic_ns() - begun
    os.close(file)
    return spent


def play_fuse(folder, rounds):
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
    call_myself("daemon")
    told = serve(device)
    os.waitpid(pid, 0)
    told["read"] = int(os.read(answers, 64))
    with open(f"{folder}/truth.json", "w", encoding="ascii") as file:
        json.dump(told, file)


def record(case, rounds):
    """What the program knows, and the report's rows: (frames, ns)."""
    binaries = os.environ["WAKEPATH_BIN"]
    with tempfile.TemporaryDirectory(prefix="wakepath-truth-", dir=FOLDER) as folder:
        subprocess.run([f"{binaries}/wakepath", "record", "--quiet", "--out", f"{folder}/out", "--store", f"{folder}/store", "--release", "r",
                        "--aggregate", "truth=thread=reader", "--", sys.executable, os.path.abspath(__file__), "--play", folder,
                        "--rounds", str(rounds), case], check=True, timeout=90, stdin=subprocess.DEVNULL)
        folded = subprocess.run([f"{binaries}/wakepath-reporter", "--store", f"{folder}/store", "--aggregate", "truth", "--format", "folded"],
                                check=True, capture_output=True, text=True, timeout=60).stdout
        with open(f"{folder}/truth.json", encoding="ascii") as file:
            truth = json.load(file)
    return truth, [(stack.split(";"), int(us)) for stack, _, us in (line.rpartition(" ") for line in folded.splitlines())]


IMAGE = 32 << 20 # of a loop device


def play_loop(folder, rounds):
    with open(f"{folder}/image", "wb") as file:
        file.write(bytes(IMAGE))
        file.flush()
        os.fsync(file.fileno())
    device = subprocess.check_output(["losetup", "-f"], text=True).strip()
    subprocess.run(["losetup", device, f"{folder}/image"], check=True)
    try:
        call_myself("reader")
        disk, buffer, sleeper = os.open(device, os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, IMAGE // 16), Sleeper()
        told = {"write": [], "flush": []}
        for i in range(rounds):
            told["write"].append(sleeper.spent(lambda at=i % 16 * len(buffer): os.pwrite(disk, buffer, at)))
            told["flush"].append(sleeper.spent(lambda: os.fsync(disk)))
        os.close(disk)
        call_myself("done")
    finally:
        subprocess.run(["losetup", "-d", device], check=True)
    with open(f"{folder}/truth.json", "w", encoding="ascii") as file:
        json.dump({name: total(spent) for name, spent in told.items()}, file)


def hold(name, truth_ns, told_ns, whole_ns, bound):
    off = 100 * abs(told_ns - truth_ns) / max(whole_ns, 1)
    print(f"{name}: {truth_ns / 1e6:.3f} ms, in the report {told_ns / 1e6:.3f} ms: {off:.2f} % off", flush=True)
    return off <= bound


def hold_fuse(rounds, bound):
    truth, rows = record("fuse", rounds)
    asked = [(frames, ns) for frames, ns in rows if any(re.match("sleep:p?read", frame) for frame in frames)]
    served = [(frames[frames.index("[daemon]"):], ns) for frames, ns in asked if "[daemon]" in frames]
    awake = [(frames, ns) for frames, ns in served if not any(frame.startswith("sched:") for frame in frames)]
    slept = sum(ns for frames, ns in awake if any(frame.startswith("sleep:clock_nanosleep") for frame in frames))
    told = {"read": sum(ns for _, ns in asked), "computed": sum(ns for _, ns in awake) - slept, "slept": slept}
    return all([hold(name, truth[name], ns, truth["read"], bound) for name, ns in told.items()])


def above(rows, sleep):
    """What stands on such a sleep of the reader's, but that it was runnable itself; and how long it was that."""
    found = [(frames[1 + next(i for i, frame in enumerate(frames) if re.match(sleep, frame)):], ns) for frames, ns in rows
             if frames[0] == "[reader]" and any(re.match(sleep, frame) for frame in frames)]
    late = sum(ns for frames, ns in found if frames and frames[0].startswith("sched:"))
    return [(frames, ns) for frames, ns in found if not frames or not frames[0].startswith("sched:")], late


def part(rows, pattern):
    return sum(ns for frames, ns in rows if any(re.match(pattern, frame) for frame in frames))


def hold_disk(rounds, bound):
    truth, rows = record("disk", rounds)
    (ring, ring_late), (aio, aio_late), (journal, journal_late) = (above(rows, sleep) for sleep in ("sleep:io_uring_enter", "sleep:io_getevents",
                                                                                                    "sleep:fsync.*log"))
    more = max(0, ring_late - truth["uring"][1] - truth["punted"][1]) / max(1, truth["uring"][2] + truth["punted"][2])  # for each of its sleeps
    told = {"uring": (sum(ns for frames, ns in ring if frames and frames[0].startswith("io:")), truth["uring"][1] + more * truth["uring"][2]),
            "punted": (part(ring, r"\[iou-wrk"), truth["punted"][1] + more * truth["punted"][2]), "aio": (part(aio, r"\[kworker/"), aio_late),
            "journal": (sum(ns for frames, ns in journal if frames), journal_late)}
    if "throttled" in truth:
        throttled, late = above(rows, "sleep:write .*fill")
        told["throttled"] = sum(ns for _, ns in throttled), late
        print(f"writeback throttling: {sum(ns for _, ns in above(rows, 'sleep:write .*fill, writeback throttling')[0]) / 1e6:.3f} ms")
    print(f"of the journal's {part(journal, 'for:.bulk') / 1e6:.3f} ms were for bulk, {part(journal, 'io:') / 1e6:.3f} ms at the disk")
    return all([hold_sleeps(name, truth[name], told_of, bound) for name, told_of in told.items()])


def hold_loop(rounds, bound):
    truth, rows = record("loop", rounds)
    asked = {"write": above(rows, "sleep:pwrite"), "flush": above(rows, "sleep:fsync")}
    served = {name: [(frames, ns) for frames, ns in found if any(re.match(r"\[kworker/|io:queue", frame) for frame in frames)]
              for name, (found, _) in asked.items()}
    below = sum(ns for found in served.values() for frames, ns in found if sum(bool(re.match("io:(?!queue)", frame)) for frame in frames) > 1)
    print(f"of that {below / 1e6:.3f} ms were at the disk below", flush=True)
    whole = sum(asleep for asleep, _, _ in truth.values())
    return all([hold_sleeps(name, truth[name], (sum(ns for _, ns in found), asked[name][1]), bound, whole) for name, found in served.items()]) and below > 0


def lack_of(*paths):
    """The first of them that is not there, or None."""
    return next((f"no {path}" for path in paths if not os.path.exists(path)), None)


def lack_of_rings():
    """Why this process may have no io_uring (/proc/sys/kernel/io_uring_disabled, a filter of system calls), or None."""
    try:
        os.close(Ring(ctypes.CDLL(None, use_errno=True)).fd)
    except OSError as error:
        return f"{error.strerror}: {os.strerror(error.errno)}"
    return None


# How each is played and held, and what is missing for it.
CASES = {"fuse": (play_fuse, hold_fuse, lambda: lack_of("/dev/fuse")),
         "disk": (play_disk, hold_disk, lambda: lack_of("/dev/loop-control", MKFS) or lack_of_rings()),
         "loop": (play_loop, hold_loop, lambda: lack_of("/dev/loop-control"))}


def bounds_of(texts):
    """{case: percent} of "5" for all of them, or "disk=5"; the last one counts."""
    bounds = dict.fromkeys(CASES, 1.0)
    for text in texts:
        name, _, percent = text.rpartition("=")
        if name and name not in CASES:
            raise ValueError(f"no case {name}")
        bounds.update(dict.fromkeys([name] if name else CASES, float(percent)))
    return bounds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bound", action="append", default=[], metavar="[CASE=]PERCENT", help="that a figure may be off, 1 if nothing is said")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--play")
    parser.add_argument("case", nargs="*", default=list(CASES))
    options = parser.parse_args()
    try:
        bounds = bounds_of(options.bound)
    except ValueError as error:
        parser.error(f"--bound: {error}")
    if options.play:
        CASES[options.case[0]][0](options.play, options.rounds)
        return 0
    held = []
    for case in options.case:
        lack = CASES[case][2]()
        if lack:
            print(f"{case}: SKIPPED: {lack}", flush=True)
        else:
            held.append(CASES[case][1](options.rounds, bounds[case]))
    return 77 if not held else 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
