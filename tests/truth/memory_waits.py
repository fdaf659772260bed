#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sleeps for the memory of a cgroup, held against what the program's own clocks say.

memory_waits.py [--bound PERCENT] [--rounds N] [CASE ...]        (WAKEPATH_BIN: the folder of the programs)

limit   A process `hog` has most of what a cgroup may have. Another one, `memclient`, writes to a file: its pages have to be freed, and it sleeps until
        the disk has them. The sleeps name the cgroup, and from the second list of its processes on `hog`.
swap    The same client touches more anonymous pages than the cgroup may have, again and again: they go to a file for swap and come back. It counts
        its major faults (getrusage); what they sleep the kernel's delay accounting says, from the switch to the waking. The clocks of the others are
        not good enough for sleeps as short: they have as one what lies between a waking and the queue of another CPU. The client has a real-time
        priority: of others Linux 6.12 leaves some in the queue for a while as they fall asleep, and does not count those that are woken by then. It is
        where the disk's interrupts come, so that it is woken on its own CPU. 64 pages are read at once, which takes long: the
        kernel's end of each sleep is behind the waking, by what it takes to find a CPU, with the recorder's program at that tracepoint. So much
        (OPEN_NS) the truth leaves open.
again   A process reads the pages of a file that the cgroup has no room for three times, each by a fault. What it sleeps for the disk in the last two
        is told as for this cgroup's memory, and nothing of the first is.
high    The same at memory.high (cgroup v2): the kernel makes the client sleep.
oom     A process touches more than the cgroup may have, without swap: the kernel kills it, and the report says so first of all, and whose memory that was.
machine The same with all memory of a machine that has little.
"""
import argparse
import contextlib
import json
import mmap
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from kernel_waits import FOLDER, Sleeper, call_thread, in_children

MIB = 1 << 20
LIMIT, HOG, CLIENT = 64 * MIB, 40 * MIB, "memclient"
LARGEST = 2048 * MIB # machine that is filled for a test
OPEN_NS = 15000 # of a sleep
ROOTS = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup")


class Missing(Exception):
    """What a case needs is not here."""


def put(folder, name, value):
    with open(f"{folder}/{name}", "w", encoding="ascii") as file:
        file.write(str(value))


def read(path):
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


class DelayAccount:
    """What the kernel's delay accounting says of the calling thread (include/uapi/linux/taskstats.h), of those born while kernel.task_delayacct is 1."""
    GENERIC, REQUEST, CONTROLLER, GET_FAMILY, FAMILY_ID, FAMILY_NAME = 16, 1, 16, 3, 1, 2
    GET, PID, AGGREGATE, STATS = 1, 1, 4, 3

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, self.GENERIC)
        self.socket.bind((0, 0))
        told = self.ask(self.CONTROLLER, self.GET_FAMILY, self.FAMILY_NAME, b"TASKSTATS\0")
        self.family, = struct.unpack_from("<H", told[self.FAMILY_ID])

    def ask(self, family, command, attribute, value):
        """The attributes of the answer."""
        words = struct.pack("<BBHHH", command, 1, 0, 4 + len(value), attribute) + value + bytes(-len(value) % 4)
        self.socket.send(struct.pack("<IHHII", 16 + len(words), family, self.REQUEST, 1, 0) + words)
        size, kind = struct.unpack_from("<IH", answer := self.socket.recv(8192))
        if kind == 2: # NLMSG_ERROR
            raise Missing("no delay accounting")
        return self.attributes(answer[20:size])

    @staticmethod
    def attributes(data):
        found = {}
        while len(data) >= 4:
            size, kind = struct.unpack_from("<HH", data)
            found[kind], data = data[4:size], data[(size + 3) & ~3:]
        return found

    def disk(self):
        """How often it slept for a disk, and for how long."""
        told = self.attributes(self.ask(self.family, self.GET, self.PID, struct.pack("<I", threading.get_native_id()))[self.AGGREGATE])
        return struct.unpack_from("<2Q", told[self.STATS], 32)


def interrupts():
    """Of devices, by CPU."""
    with open("/proc/interrupts", encoding="ascii") as file:
        count = len(file.readline().split())
        rows = [line.split()[1:count + 1] for line in file if line.split()[0].rstrip(":").isdigit()]
    return [sum(map(int, column)) for column in zip(*rows)]


@contextlib.contextmanager
def setting(name, value):
    """Of the kernel, as long as it is needed."""
    before = read(f"/proc/sys/{name}")
    if not before:
        raise Missing(f"no {name}")
    put("/proc/sys", name, value)
    try:
        yield
    finally:
        put("/proc/sys", name, before)


class Group:
    """A cgroup with so much memory; by_high: above that it is slowed down."""

    def __init__(self, limit, by_high=False):
        roots = [root for root in ROOTS if os.path.exists(f"{root}/memory.limit_in_bytes") or "memory" in read(f"{root}/cgroup.subtree_control").split()]
        if not roots:
            raise Missing("no controller of memory")
        self.folder = f"{roots[0]}/wakepath-truth-{os.getpid()}"
        os.mkdir(self.folder)
        is_v2 = os.path.exists(f"{self.folder}/memory.high")
        if by_high and not is_v2:
            os.rmdir(self.folder)
            raise Missing("no memory.high in cgroup v1")
        put(self.folder, "memory.high" if by_high else "memory.max" if is_v2 else "memory.limit_in_bytes", limit)

    def enter(self):
        put(self.folder, "cgroup.procs", os.getpid())

    def end(self):
        for _ in range(50):
            try:
                os.rmdir(self.folder)
                return
            except OSError:
                time.sleep(0.1)


def touch(region, size):
    for page in range(0, size, 4096):
        region[page] = region[page] + 1 & 255


def anonymous(size):
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def beside_hog(group, client):
    """What client() returns, in a process of the cgroup where another one has most."""
    (ready, is_ready), (over, is_over), (told, tell) = os.pipe(), os.pipe(), os.pipe()
    hog = os.fork()
    if not hog:
        os.close(is_over)
        os.close(tell)
        group.enter()
        call_thread("hog")
        region = anonymous(HOG)
        touch(region, HOG)
        os.write(is_ready, b"x")
        os.read(over, 1)
        os._exit(0)
    os.read(ready, 1)
    pid = os.fork()
    if not pid:
        os.close(is_over)
        group.enter()
        call_thread(CLIENT)
        known = client()
        call_thread("done")
        os.write(tell, json.dumps(known).encode())
        os._exit(0)
    os.close(tell)
    with open(told, encoding="ascii") as pipe:
        known = json.loads(pipe.read() or "null")
    os.waitpid(pid, 0)
    os.close(is_over)
    os.waitpid(hog, 0)
    return known


def play_limit(rounds, folder, by_high=False):
    group = Group(LIMIT, by_high)

    def write():
        sleeper, file, data = Sleeper(), os.open(f"{folder}/data", os.O_RDWR | os.O_CREAT, 0o600), os.urandom(MIB)
        return {"slept": sum(sleeper.sleeps_ns(lambda: os.write(file, data)) for _ in range(10 * rounds)), "group": os.path.basename(group.folder)}

    def grow():
        regions, end = [], time.monotonic() + 2
        while len(regions) * MIB < LIMIT and time.monotonic() < end: # the farther above, the longer it sleeps
            regions.append(anonymous(MIB))
            touch(regions[-1], MIB)

    def sleep():
        slept = Sleeper().sleeps_ns(grow) # as it leaves the kernel, whatever it was there for
        return {"slept": slept, "group": os.path.basename(group.folder)}
    try:
        return beside_hog(group, sleep if by_high else write)
    finally:
        group.end()


def play_swap(rounds, folder):
    group, swap = Group(LIMIT), f"{folder}/swap"
    with open(swap, "wb") as file:
        for _ in range(128):
            file.write(bytes(MIB))
        os.fsync(file.fileno())
    os.chmod(swap, 0o600)
    subprocess.run(["mkswap", swap], check=True, stdout=subprocess.DEVNULL)
    if subprocess.run(["swapon", "--priority", "0", swap], check=False).returncode:
        group.end()
        raise Missing("no swap")

    def thrash():
        group.enter()
        size, account = LIMIT + 16 * MIB, DelayAccount()
        region, before = anonymous(size), interrupts()
        touch(region, size)
        rises = [after - was for after, was in zip(interrupts(), before)]
        os.sched_setaffinity(0, {rises.index(max(rises))})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
        faults, before = resource.getrusage(resource.RUSAGE_THREAD).ru_majflt, account.disk()
        call_thread(CLIENT)
        for i in range(rounds):
            for page in range(0, 4 * MIB, 4096):
                _ = region[(page + 4 * MIB * i) % size]
        call_thread("done")
        after = account.disk()
        return {"slept": after[1] - before[1], "sleeps": after[0] - before[0],
                "faults": resource.getrusage(resource.RUSAGE_THREAD).ru_majflt - faults}
    try:
        with setting("kernel/task_delayacct", 1), setting("vm/page-cluster", 6):
            return in_children({"filler": thrash})["filler"]
    finally:
        subprocess.run(["swapoff", swap], check=True)
        group.end()


def play_again(_rounds, folder):
    group, path, size = Group(16 * MIB), f"{folder}/index", 32 * MIB
    with open(path, "wb") as file:
        for _ in range(size // MIB):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())

    def scan():
        group.enter()
        file, sleeper = os.open(path, os.O_RDONLY), Sleeper()
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        region = mmap.mmap(file, size, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
        region.madvise(mmap.MADV_RANDOM)

        def touch_all():
            for page in range(0, size, 4096):
                _ = region[page]
        call_thread(CLIENT)
        slept = [sleeper.sleeps_ns(touch_all) for _ in range(3)]
        call_thread("done")
        return {"slept": sum(slept), "again": slept[1] + slept[2], "group": os.path.basename(group.folder)}
    try:
        return in_children({"reader": scan})["reader"]
    finally:
        group.end()


def killed(size, enter):
    """A process that touches so much."""
    pid = os.fork()
    if not pid:
        enter()
        call_thread("greedy")
        touch(anonymous(size), size)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return {"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, "pid": pid}


def play_oom(_rounds, _folder):
    group = Group(LIMIT)
    try:
        return {**killed(2 * LIMIT, group.enter), "whose": f"/{os.path.basename(group.folder)};"}
    finally:
        group.end()


def play_machine(_rounds, _folder):
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > LARGEST or len(read("/proc/swaps").splitlines()) > 1:
        raise Missing("a machine with much memory, or swap")
    return {**killed(size, lambda: put("/proc/self", "oom_score_adj", 1000)), "whose": "the whole machine;"}


CASES = {"limit": play_limit, "swap": play_swap, "again": play_again, "high": lambda rounds, folder: play_limit(rounds, folder, True), "oom": play_oom, "machine": play_machine}
KILLS = ("oom", "machine")


def report(store, *words):
    return subprocess.run([f"{os.environ['WAKEPATH_BIN']}/wakepath-reporter", "--store", store, *words], check=True, capture_output=True, text=True,
                          timeout=60).stdout


def record(case, rounds):
    """What the program knows, the report's rows (frames, ns), and of one that is killed the report."""
    with tempfile.TemporaryDirectory(prefix="wakepath-truth-", dir=FOLDER) as folder:
        subprocess.run([f"{os.environ['WAKEPATH_BIN']}/wakepath", "record", "--quiet", "--out", f"{folder}/out", "--store", f"{folder}/store",
                        "--release", "r", "--aggregate", f"truth=thread={CLIENT}", "--", sys.executable, os.path.abspath(__file__), "--play", folder,
                        "--rounds", str(rounds), case], check=True, timeout=200, stdin=subprocess.DEVNULL)
        with open(f"{folder}/truth.json", encoding="ascii") as file:
            truth = json.load(file)
        if isinstance(truth, str):
            raise Missing(truth)
        folded = "" if case in KILLS else report(f"{folder}/store", "--aggregate", "truth", "--format", "folded")
        ends = json.loads(report(f"{folder}/store", "--format", "json")) if case in KILLS else {}
    return truth, [(stack.split(";"), int(us)) for stack, _, us in (line.rpartition(" ") for line in folded.splitlines())], ends


def hold(name, truth_ns, told_ns, bound, open_ns=0):
    """open_ns: the truth is between so much less and what it says."""
    beyond = max(told_ns - truth_ns, truth_ns - open_ns - told_ns, 0)
    off = 100 * beyond / max(truth_ns, 1)
    is_open = f" (open: {open_ns / 1e6:.3f} ms)" if open_ns else ""
    print(f"{name}: {truth_ns / 1e6:.3f} ms{is_open}, in the report {told_ns / 1e6:.3f} ms: {off:.2f} % off", flush=True)
    return off <= bound


def above(rows, pattern):
    """What stands on such a sleep of the client's own, but that it was runnable itself."""
    found = []
    for frames, ns in rows:
        layer = frames[:next((i for i, frame in enumerate(frames) if i and frame.startswith("[")), len(frames))]
        at = next((i for i, frame in enumerate(layer) if re.fullmatch(pattern, frame)), None)
        if at is not None and not any(frame.startswith("sched:") for frame in layer[at + 1:]):
            found.append((frames[at:], ns))
    return found


def held(case, rounds, bound):
    truth, rows, ends = record(case, rounds)
    if case in KILLS:
        told = [(row["ending"], row.get("killed_for_memory_of", "")) for row in ends.get("process_tree", []) if row["pid"] == truth["pid"] and row.get("ending")]
        first = ends["explanations"][0]["sentence"]
        print(f"{case}: signal {truth['signal']}, in the report {told}, first of all: {first}")
        is_first = " was killed: out of memory (" in first and truth["whose"][:-1] in first
        return is_first and truth["signal"] == signal.SIGKILL and len(told) == 1 and told[0][0] == "SIGKILL, out of memory" and told[0][1].startswith(truth["whose"])
    all_of = above(rows, {"limit": "sleep:write.*", "swap": "sleep:fault.*", "again": "sleep:fault.*", "high": "sleep:.*"}[case])
    good = hold(case, truth["slept"], sum(ns for _, ns in all_of), bound, OPEN_NS * truth.get("sleeps", 0))
    if case == "swap":
        print(f"swap: {truth['faults']} major faults, {truth['sleeps']} sleeps; {sum(ns for frames, ns in all_of if 'swap' in frames[0]) / 1e6:.3f} ms for swap")
        return good and any("swap" in frames[0] for frames, _ in all_of)
    named = [(frames, ns) for frames, ns in all_of if truth["group"] in frames[0]]
    if case == "again":
        is_told = hold("again, for the cgroup", truth["again"], sum(ns for _, ns in named), bound)
        return good and is_told and all(frames[0].startswith("sleep:fault file, memory of ") for frames, _ in named)
    by_hog = sum(ns for frames, ns in named if "memory:held by [hog]" in frames)
    print(f"{case}: {sum(ns for _, ns in named) / 1e6:.3f} ms name the cgroup, {by_hog / 1e6:.3f} ms hog; nobody else: "
          f"{sum(ns for frames, ns in named if any(frame.startswith('memory:held') for frame in frames)) == by_hog}")
    return good and by_hog > 0 and not any(frame.startswith("memory:held") and frame != "memory:held by [hog]" for frames, _ in named for frame in frames)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bound", type=float, default=1, help="percent that a figure may be off")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--play")
    parser.add_argument("case", nargs="*", default=list(CASES))
    options = parser.parse_args()
    if options.play:
        try:
            truth = CASES[options.case[0]](options.rounds, options.play)
        except Missing as error:
            truth = str(error)
        with open(f"{options.play}/truth.json", "w", encoding="ascii") as file:
            json.dump(truth, file)
        return 0
    results = []
    for case in options.case:
        try:
            results.append(held(case, options.rounds, options.bound))
        except Missing as error:
            print(f"{case}: SKIPPED: {error}", flush=True)
    return 77 if not results else 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
