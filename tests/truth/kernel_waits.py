#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the kernel makes threads wait for, held against what the program's own clocks say.

kernel_waits.py [--bound PERCENT] [--rounds N] [CASE ...]        (WAKEPATH_BIN: the folder of the programs)

flock   Three processes lock one file in turn, by flock, fcntl and OFD locks. The third waits for the first as long as that has the lock, then for the second.
        After that the third opens a file that the first has a lease on, which goes on computing before it gives it back.
inode   One process writes to a file past the page cache, which keeps the file locked while the disk works. Another asks where its data is.
mmap    A thread changes the protection of much memory again and again; another one of its process asks meanwhile whether a page is there.
fault   A process touches pages of a file that is not in memory.

A thread sleeps for the time that it neither runs nor could.
"""
import argparse
import ctypes
import fcntl
import json
import mmap
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROUND_S, HOLD_S = 0.08, 0.02
OPEN_NS = 50000 # of a sleep: the account of the delay begins in the queue of the CPU that is to run the thread, the report's latency with its waking
FOLDER = "/var/tmp"


def call_thread(name):
    with open("/proc/thread-self/comm", "w", encoding="ascii") as comm:
        comm.write(name)


def compute_until(end_s):
    while time.monotonic() < end_s:
        pass


class Sleeper:
    """What the calling thread sleeps, call by call."""

    def __init__(self):
        self.account = os.open("/proc/thread-self/schedstat", os.O_RDONLY)

    def runnable_ns(self):
        return int(os.pread(self.account, 100, 0).split()[1])

    def spent(self, act):
        """(ns asleep, ns runnable, sleeps) of the act. Of one that does not sleep nothing: what a hypervisor takes from a thread is on no account
        of the thread's. Each pair of clocks is read in the same order, so that what the reading takes is in both or in neither; where the thread
        loses the processor between two of them, that one sleep is not counted."""
        sleeps, runnable = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw, self.runnable_ns()
        ran, began = time.thread_time_ns(), time.monotonic_ns()
        act()
        ran, asleep = time.thread_time_ns() - ran, time.monotonic_ns() - began
        runnable = self.runnable_ns() - runnable
        asleep -= ran + runnable
        sleeps = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - sleeps
        return (max(0, asleep), runnable, sleeps) if sleeps > 0 else (0, 0, 0)

    def sleeps_ns(self, act):
        return self.spent(act)[0]


def total(spent):
    """Of several acts."""
    return [sum(column) for column in zip((0, 0, 0), *spent)]


def in_children(roles):
    """What each of the functions returns, each in a process of its name."""
    readers, told = {}, {}
    for name, function in roles.items():
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            call_thread(name)
            os.write(writer, json.dumps(function()).encode())
            os._exit(0)
        os.close(writer)
        readers[name] = pid, reader
    for name, (pid, reader) in readers.items():
        with open(reader, encoding="ascii") as pipe:
            told[name] = json.load(pipe)
        os.waitpid(pid, 0)
    return told


OFD_SETLKW, SETLEASE = 38, 1024 # include/uapi/asm-generic/fcntl.h, include/uapi/linux/fcntl.h


def lock_file(file, kind, how):
    """By flock, by fcntl as the process, by fcntl as the open file."""
    if kind == 0:
        fcntl.flock(file, how)
    elif kind == 1:
        fcntl.lockf(file, how)
    else:
        fcntl.fcntl(file, OFD_SETLKW, struct.pack("hhqqi4x", fcntl.F_WRLCK if how == fcntl.LOCK_EX else fcntl.F_UNLCK, 0, 0, 0, 0))


def take_turns(place, rounds, start_s, path):
    """When each round's lock was asked for, had and given back."""
    turns = []
    with open(path, "w", encoding="ascii") as file:
        for i in range(rounds):
            at_s = start_s + i * ROUND_S + 0.005 * place
            time.sleep(max(0, at_s - time.monotonic()))
            asked = time.monotonic_ns()
            lock_file(file, i % 3, fcntl.LOCK_EX)
            got = time.monotonic_ns()
            compute_until(time.monotonic() + HOLD_S)
            turns.append((asked, got, time.monotonic_ns()))
            lock_file(file, i % 3, fcntl.LOCK_UN)
    return turns


def lease(is_holder, pipe, path):
    """The one has a lease on the file, says so, and computes on for a while as it is asked to give it back; the other opens the file, and sleeps
    so long."""
    had, have = pipe
    if not is_holder:
        os.close(have)
        if not os.read(had, 1):
            raise OSError("nobody has the lease")
        return Sleeper().sleeps_ns(lambda: os.close(os.open(path, os.O_RDONLY)))
    asked = []
    signal.signal(signal.SIGIO, lambda *_: asked.append(time.monotonic()))
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    fcntl.fcntl(file, SETLEASE, fcntl.F_WRLCK)
    os.write(have, b"x")
    limit_s = time.monotonic() + 30  # of one that nobody asks for
    while not asked and time.monotonic() < limit_s:
        pass
    compute_until(time.monotonic() + 5 * HOLD_S)
    fcntl.fcntl(file, SETLEASE, fcntl.F_UNLCK)
    return 0


def play_flock(rounds, folder):
    start_s, pipe = time.monotonic() + 0.3, os.pipe()

    def play(place):
        turns = take_turns(place, rounds, start_s, f"{folder}/locked")
        return turns, lease(not place, pipe, f"{folder}/leased") if place != 1 else 0
    told = in_children({f"locker{place}": lambda place=place: play(place) for place in range(3)})
    zero, one, two = (told[f"locker{place}"][0] for place in range(3))
    # whoever is next in the queue has the lock from its release on, and waits for a processor first
    one = [(asked, max(asked, end) if asked < end < got else got, until) for (asked, got, until), (_, _, end) in zip(one, zero)]
    return {**{name: sum(max(0, min(got, end) - max(asked, begin)) for asked, got, _ in two for _, begin, end in turns)
               for name, turns in (("locker0", zero), ("locker1", one))}, "lease": told["locker2"][1]}


def play_inode(rounds, folder):
    path = f"{folder}/data"
    end_s = time.monotonic() + 0.3 + rounds * 0.02

    def write():
        buffer = mmap.mmap(-1, 1 << 20)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT | os.O_APPEND, 0o600)
        while time.monotonic() < end_s:
            os.write(file, buffer)
            if os.fstat(file).st_size > 64 << 20:
                os.ftruncate(file, 0)

    def seek():
        file, sleeper, waited = os.open(path, os.O_RDWR | os.O_CREAT, 0o600), Sleeper(), []

        def ask():
            try:
                os.lseek(file, 0, os.SEEK_DATA)
            except OSError: # it is empty now
                pass
        while time.monotonic() < end_s:
            time.sleep(0.002)
            waited.append(sleeper.spent(ask))
        return total(waited)
    return {"waited": in_children({"writer": write, "seeker": seek})["seeker"]}


def play_mmap(rounds, _folder):
    system, blocking = ctypes.CDLL(None), ctypes.PyDLL(None)
    sys.setswitchinterval(60) # else the other thread asks for the interpreter's lock, and a wait for that is in the time of the calls, too
    size, waited = 512 << 20, []
    region = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for page in range(0, size, 4096):
        region[page] = 1
    address = ctypes.addressof(ctypes.c_char.from_buffer(region))
    stop = threading.Event()
    cpus = sorted(os.sched_getaffinity(0)) # apart: the clocks of who is woken by a thread that keeps the processor count that time twice

    def protect():
        call_thread("protector")
        os.sched_setaffinity(0, {cpus[-1]})
        while not stop.is_set():
            for kind in (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE):
                system.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), kind)
    thread = threading.Thread(target=protect)
    os.sched_setaffinity(0, {cpus[0]})
    here = (ctypes.c_char * 1)()
    blocking.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    thread.start() # at ordinary priority
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
    sleeper = Sleeper()
    call_thread("mapper")
    for _ in range(rounds):
        time.sleep(0.002) # shorter than a change takes, so that it strikes one
        waited.append(sleeper.spent(lambda: blocking.mincore(address, 4096, here))) # who only reads does not spin for the lock
    call_thread("done")
    stop.set()
    thread.join()
    return {"waited": total(waited)}


def play_fault(rounds, folder):
    size, stride = 4 * rounds << 20, 1 << 20 # more than what is read ahead: each sleeps
    file = os.open(f"{folder}/cold", os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(4 * rounds):
        os.write(file, os.urandom(1 << 20))
    os.fsync(file)

    def touch():
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        region = mmap.mmap(file, size, prot=mmap.PROT_READ)
        sleeper = Sleeper()
        return total(sleeper.spent(lambda page=page: region[page]) for page in range(0, size, stride))
    return {"waited": in_children({"toucher": touch})["toucher"]}


CASES = {"flock": (play_flock, "comm=locker2"), "inode": (play_inode, "comm=seeker"), "mmap": (play_mmap, "thread=mapper"), "fault": (play_fault, "comm=toucher")}


def record(case, rounds):
    """What the program knows, and the report's rows: (frames, ns)."""
    binaries = os.environ["WAKEPATH_BIN"]
    with tempfile.TemporaryDirectory(prefix="wakepath-truth-", dir=FOLDER) as folder:
        subprocess.run([f"{binaries}/wakepath", "record", "--quiet", "--out", f"{folder}/out", "--store", f"{folder}/store", "--release", "r",
                        "--aggregate", f"truth={CASES[case][1]}", "--", sys.executable, os.path.abspath(__file__), "--play", folder,
                        "--rounds", str(rounds), case], check=True, timeout=200, stdin=subprocess.DEVNULL)
        folded = subprocess.run([f"{binaries}/wakepath-reporter", "--store", f"{folder}/store", "--aggregate", "truth", "--format", "folded"],
                                check=True, capture_output=True, text=True, timeout=60).stdout
        with open(f"{folder}/truth.json", encoding="ascii") as file:
            truth = json.load(file)
    return truth, [(stack.split(";"), int(us)) for stack, _, us in (line.rpartition(" ") for line in folded.splitlines())]


def hold(name, truth_ns, told_ns, bound):
    off = 100 * abs(told_ns - truth_ns) / max(truth_ns, 1)
    print(f"{name}: {truth_ns / 1e6:.3f} ms, in the report {told_ns / 1e6:.3f} ms: {off:.2f} % off", flush=True)
    return off <= bound


def is_runnable(frames, pattern):
    """After that sleep the thread itself waits for a processor; another one that it waits for may have to wait for one, too."""
    behind = frames[next(i for i, frame in enumerate(frames) if re.fullmatch(pattern, frame)) + 1:]
    own = behind[:next((i for i, frame in enumerate(behind) if frame.startswith("[")), len(behind))]
    return any(frame.startswith("sched:") for frame in own)


def hold_sleeps(name, spent, told, bound, whole_ns=0):
    """spent: the truth, as of total(); told: (ns asleep, ns runnable) of the report. As much as the report has more of a latency than the scheduler's
    account may be missing of the sleeps. In percent of whole_ns, or of the truth."""
    asleep, runnable, sleeps = spent
    open_ns = min(max(0, told[1] - runnable), OPEN_NS * sleeps)
    beyond = max(told[0] - asleep, asleep - open_ns - told[0], 0)
    off = 100 * beyond / max(whole_ns or asleep, 1)
    print(f"{name}: {asleep / 1e6:.3f} ms of {sleeps} sleeps, in the report {told[0] / 1e6:.3f} ms; then runnable {runnable / 1e6:.3f} ms, in the report "
          f"{told[1] / 1e6:.3f} ms (open: {open_ns / 1e6:.3f} ms): {off:.2f} % off", flush=True)
    return off <= bound


def held(case, rounds, bound):
    truth, rows = record(case, rounds)
    if case == "flock": # the last process on the stack is who is waited for
        leased = sum(ns for frames, ns in rows if any(re.fullmatch("sleep:openat.*lease", frame) for frame in frames) and "[locker0]" in frames)
        last = [([frame for frame in frames if re.fullmatch(r"\[locker\d\]", frame)][-1:], ns) for frames, ns in rows
                if any(re.fullmatch("sleep:(flock|fcntl) .*/locked", frame) for frame in frames)]
        return all([hold("lease", truth.pop("lease"), leased, bound)] +
                   [hold(f"lock behind {name}", ns, sum(us for frame, us in last if frame == [f"[{name}]"]), bound) for name, ns in truth.items()])
    pattern = {"inode": r"sleep:lseek kernel lock \(inode data, read\)", "mmap": r"sleep:mincore kernel lock \(mmap_lock, read\)", "fault": "sleep:fault file"}[case]
    told = [(is_runnable(frames, pattern), ns) for frames, ns in rows if any(re.fullmatch(pattern, frame) for frame in frames)]
    return hold_sleeps(case, truth["waited"], [sum(ns for is_late, ns in told if is_late == late) for late in (False, True)], bound)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bound", type=float, default=1, help="percent that a figure may be off")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--play")
    parser.add_argument("case", nargs="*", default=list(CASES))
    options = parser.parse_args()
    if options.play:
        truth = CASES[options.case[0]][0](options.rounds, options.play)
        with open(f"{options.play}/truth.json", "w", encoding="ascii") as file:
            json.dump(truth, file)
        return 0
    return 0 if all([held(case, options.rounds, options.bound) for case in options.case]) else 1


if __name__ == "__main__":
    sys.exit(main())
