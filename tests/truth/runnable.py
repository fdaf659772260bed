#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Who had the CPU while a thread was runnable, held against what is known.

runnable.py [--bound PERCENT] [--quota-bound PERCENT] [--quota-least PERCENT] [--seconds N] [--spinners N]        (WAKEPATH_BIN: the folder of the programs)

rivals  A thread computes on one CPU, at ordinary priority. Two real-time programs take that CPU from it at known times: `hog_long` for 20 ms
        of each 60, `hog_short` for 5 ms. While they run it waits for them, so it was behind each, or behind interrupts that hit that one, as
        long as that one's own clock of CPU time says. What it waited altogether is the scheduler's own account of it (/proc/self/schedstat).
quota   The same thread in a cgroup with 20 ms of CPU in each 100, with another process, `spender`, on its CPU: it waits as long as the cgroup
        was throttled (cpu.stat), each time in the shares that both had of the CPU since the time before, as both write down. With --quota-least no clock is trusted, as on an emulated machine, and
        nothing else is tried: of what the thread waited so much at least is the quota, and a tenth at most an idle CPU coming back.
"""
import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

PERIOD_S = 0.06
OFF_NS = 300_000  # between two readings of the clock: the thread had no CPU meanwhile
THROTTLED_NS = 10_000_000  # neither had one
HOGS = {"hog_long": (0.0, 0.020), "hog_short": (0.03, 0.005)}  # when in the period, for how long
GROUPS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup")


def call_myself(name):
    with open("/proc/self/comm", "w", encoding="ascii") as comm:
        comm.write(name)


def compute_until(end_s):
    while time.monotonic() < end_s:
        pass


def runs_until(end_ns, entered_ns):
    """The same; when it had a CPU, from which time on it may have had one: [begin, end]."""
    runs, last_ns = [[entered_ns, entered_ns]], entered_ns
    while last_ns < end_ns:
        now_ns = time.monotonic_ns()
        if now_ns - last_ns > OFF_NS:
            runs[-1][1] = last_ns
            runs.append([now_ns, now_ns])
        last_ns = now_ns
    runs[-1][1] = last_ns
    return runs


def account():
    """(ns on a CPU, ns runnable without one) of this thread."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        ran, waited, _ = map(int, file.read().split())
    return ran, waited


def hog(name, cpu, start_s, end_s):
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
    offset_s, length_s = HOGS[name]
    at_s, bursts = start_s + 0.1 + offset_s, []
    time.sleep(max(0, at_s - length_s - time.monotonic()))
    call_myself(name) # from here on until it is done: a process' birth and end take processor time, too
    while at_s + length_s < end_s - 0.1:
        before, begin_ns = time.thread_time_ns(), time.monotonic_ns()
        time.sleep(max(0, at_s - time.monotonic()))
        compute_until(at_s + length_s)
        bursts.append((begin_ns, time.monotonic_ns(), time.thread_time_ns() - before))
        at_s += PERIOD_S
    call_myself("done")
    return {name: bursts}


def client(cpu, end_s, name="client", entered_ns=None):
    os.sched_setaffinity(0, {cpu})
    call_myself(name)
    begin_ns, (_, before) = time.monotonic_ns(), account()
    runs = runs_until(int(end_s * 1e9), entered_ns or begin_ns)
    _, waited = account()
    told = {"waited": waited - before, "begin": begin_ns, "length": time.monotonic_ns() - begin_ns, "runs": runs}
    call_myself("done")
    return told


def play_rivals(path, seconds, spinners):
    """Children write into pipes what they know."""
    cpu, start_s = max(os.sched_getaffinity(0)), time.monotonic() + 0.2
    told = {}
    children = []
    for _ in range(spinners):
        if not os.fork():
            os.sched_setaffinity(0, {cpu})
            call_myself("spinner")
            compute_until(start_s + seconds)
            os._exit(0)
    for role in (*HOGS, "client"):
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            known = client(cpu, start_s + seconds) if role == "client" else hog(role, cpu, start_s, start_s + seconds)
            os.write(writer, json.dumps(known).encode())
            os._exit(0)
        os.close(writer)
        children.append((pid, reader))
    for pid, reader in children:
        with open(reader, encoding="ascii") as pipe:
            told.update(json.load(pipe))
        os.waitpid(pid, 0)
    with open(path, "w", encoding="ascii") as file:
        json.dump(told, file)


def put(folder, name, value):
    with open(f"{folder}/{name}", "w", encoding="ascii") as file:
        file.write(str(value))


def throttled_ns(folder):
    with open(f"{folder}/cpu.stat", encoding="ascii") as file:
        stat = dict(line.split() for line in file)
    return int(stat["throttled_time"]) if "throttled_time" in stat else 1000 * int(stat["throttled_usec"])


def make_group():
    """A cgroup with a quota; None: there is no controller for it here."""
    for root in GROUPS:
        folder = f"{root}/wakepath-truth-{os.getpid()}"
        try:
            os.mkdir(folder)
        except OSError:
            continue
        try:
            if os.path.exists(f"{folder}/cpu.cfs_quota_us"):
                put(folder, "cpu.cfs_period_us", 100000)
                put(folder, "cpu.cfs_quota_us", 20000)
                return folder
            put(folder, "cpu.max", "20000 100000")
            return folder
        except OSError:
            os.rmdir(folder)
    return None


def ran_in(runs, begin_ns, end_ns):
    return sum(max(0, min(end, end_ns) - max(begin, begin_ns)) for begin, end in runs)


def share_of(spender, other):
    """What the spender had of the CPU before each time that neither had it, by how long that was."""
    throttled_ns, its_ns, begin_ns = 0, 0, 0
    runs = sorted(spender + other)
    ends = itertools.accumulate((end for _, end in runs), max)
    for end_ns, (next_ns, _) in zip(ends, runs[1:]):
        if next_ns - end_ns < THROTTLED_NS:
            continue
        its, others = ran_in(spender, begin_ns, end_ns), ran_in(other, begin_ns, end_ns)
        throttled_ns += next_ns - end_ns
        its_ns += (next_ns - end_ns) * its / max(1, its + others)
        begin_ns = next_ns
    return its_ns / max(1, throttled_ns)


def play_quota(path, seconds):
    folder = make_group()
    told = {"quota": None}
    if folder:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        end_s, both = time.monotonic() + seconds, {}
        for name in ("client", "spender"):
            reader, writer = os.pipe()
            pid = os.fork()
            if not pid:
                entered_ns = time.monotonic_ns()
                put(folder, "cgroup.procs", os.getpid())
                os.write(writer, json.dumps(client(max(os.sched_getaffinity(0)), end_s, name, entered_ns)).encode())
                os._exit(0)
            os.close(writer)
            both[name] = pid, reader
        for name, (pid, reader) in both.items():
            with open(reader, encoding="ascii") as pipe:
                both[name] = json.load(pipe)
            os.waitpid(pid, 0)
        told = {**both["client"], "quota": throttled_ns(folder), "group": os.path.basename(folder),
                "share": share_of(both["spender"]["runs"], both["client"]["runs"])}
        os.rmdir(folder)
    with open(path, "w", encoding="ascii") as file:
        json.dump(told, file)


def record(case, seconds, spinners=0):
    """What the program knows, and the report's rows: (frames, ns)."""
    binaries = os.environ["WAKEPATH_BIN"]
    with tempfile.TemporaryDirectory(prefix="wakepath-truth-", dir="/var/tmp") as folder:
        subprocess.run([f"{binaries}/wakepath", "record", "--quiet", "--out", f"{folder}/out", "--store", f"{folder}/store", "--release", "r",
                        "--aggregate", "truth=comm=client", "--", sys.executable, os.path.abspath(__file__), "--play", case, "--file",
                        f"{folder}/truth.json", "--seconds", str(seconds), "--spinners", str(spinners)], check=True, timeout=200, stdin=subprocess.DEVNULL)
        folded = subprocess.run([f"{binaries}/wakepath-reporter", "--store", f"{folder}/store", "--aggregate", "truth", "--format", "folded"],
                                check=True, capture_output=True, text=True, timeout=60).stdout
        with open(f"{folder}/truth.json", encoding="ascii") as file:
            truth = json.load(file)
    rows = [(stack.split(";"), int(us)) for stack, _, us in (line.rpartition(" ") for line in folded.splitlines())]
    return truth, [(frames, us) for frames, us in rows if frames[0] in ("[client]", "(truth)") or "[client]" in frames]


def spent(rows, pattern):
    return sum(ns for frames, ns in rows if any(re.fullmatch(pattern, frame) for frame in frames))


def hold(name, truth_ns, told_ns, whole_ns, bound):
    off = 100 * abs(told_ns - truth_ns) / max(truth_ns, 1)
    print(f"{name}: {truth_ns / 1e6:.3f} ms, in the report {told_ns / 1e6:.3f} ms: {off:.2f} % off, {100 * abs(told_ns - truth_ns) / whole_ns:.2f} % of all",
          flush=True)
    return off <= bound


def least_of_quota(percent, seconds):
    """On kernels that do not throttle each thread by itself, it stands in the queue most of the time."""
    truth, rows = record("quota", seconds)
    waited, told = (spent(rows, pattern) for pattern in ("sched:(runnable|preempted)", f"sched:quota of .*{truth['group']}"))
    idle = spent(rows, "sched:wake-up latency")
    print(f"runnable {waited / 1e6:.3f} ms, quota {told / 1e6:.3f} ms, wake-up latency {idle / 1e6:.3f} ms", flush=True)
    return waited > 0 and told >= percent / 100 * waited and idle <= waited / 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bound", type=float, default=1, help="percent that a figure may be off")
    parser.add_argument("--account-bound", type=float, default=1, help="the same of all runnable time, by the scheduler's own account")
    parser.add_argument("--quota-bound", type=float, default=1, help="the same of the quota, which others that have the CPU as it ends lengthen")
    parser.add_argument("--quota-least", type=float, help="percent of the wait that is told to be the quota, at least; the rest is not tried")
    parser.add_argument("--share-bound", type=float, default=1, help="the same of who spent it")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--spinners", type=int, default=0, help="so many others compute on the CPU of the rivals all the time")
    parser.add_argument("--play", choices=("rivals", "quota"))
    parser.add_argument("--file")
    options = parser.parse_args()
    if options.play:
        if options.play == "rivals":
            play_rivals(options.file, options.seconds, options.spinners)
        else:
            play_quota(options.file, options.seconds)
        return 0
    if options.quota_least:
        return 0 if least_of_quota(options.quota_least, options.seconds) else 1
    truth, rows = record("rivals", options.seconds, options.spinners)
    good = True
    seized = spent(rows, "sched:(interrupt|soft interrupt).*")
    print(f"interrupts {seized / 1e6:.3f} ms, steal {spent(rows, 'sched:steal') / 1e6:.3f} ms")
    good &= seized <= 0.05 * truth["waited"] # 0.6 % beside other work; more would be what a hog had
    for name in HOGS: # their clocks go on in interrupts, which are told apart
        inside = sum(ns for begin, end, ns in truth[name] if begin >= truth["begin"] and end <= truth["begin"] + truth["length"])
        told = spent(rows, rf"sched:behind \[{name}\]")
        more = min(seized, max(0, inside - told))
        seized -= more # counts once
        good &= hold(f"behind {name}", inside, told + more, truth["length"], options.bound)
    good &= hold("runnable", truth["waited"], spent(rows, "sched:(runnable|preempted)"), truth["length"], options.account_bound)
    if options.spinners:
        print(f"behind spinners: {spent(rows, r'sched:behind .spinner.') / 1e6:.3f} ms")
    print(f"not known: {spent(rows, 'sched:not known.*') / 1e6:.3f} ms")
    truth, rows = record("quota", options.seconds)
    if truth["quota"] is None:
        print("quota: no controller of the CPU can be used here")
    else:
        good &= hold("runnable", truth["waited"], spent(rows, "sched:(runnable|preempted)"), truth["length"], options.account_bound)
        good &= hold("quota", truth["quota"], spent(rows, f"sched:quota of .*{truth['group']}"), truth["length"], options.quota_bound)
        good &= hold("spent by spender", truth["share"] * truth["quota"], spent(rows, r"sched:spent by \[spender\]"), truth["length"],
                     options.share_bound)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
