#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records programs that know their own waits and says how much of the time the report puts in the wrong place.

compare.py [OPTION...] [CASE...]   programs and wakepath are in $WAKEPATH_BIN

A truth is, for each chain of who waited for whom, how long it was on a processor, preempted, asleep, at the disk, timed
out, or in a queue behind others' work. *Wrong* is what the truth has in a place and the report has not, and what the report
has in chains that do not exist; *misattributed* is that and what the report calls unaccounted. Transit (between one's send and the other's
receive) belongs to nobody's truth; it is printed as a share of the total. Where the program has written down each of its
requests, each is held to the bound by itself (single_requests.py).
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from single_requests import Trace, tell_requests

KERNEL = re.compile(r"^(kworker|jbd2|ksoftirqd|migration|rcu_|kswapd|swapper|iou-|kthreadd)")
DISK_CALLS = {"sleep:fsync", "sleep:fdatasync", "sleep:sync", "sleep:pwrite64", "sleep:write"}
SLEEP_CALLS = {"sleep:nanosleep", "sleep:clock_nanosleep"}
KINDS = ("cpu", "preempted", "sleep", "disk", "timeout", "queue", "held")

# name: (program and arguments after the file of the truth, bound in percent, in the quick set)
CASES = {
    "rpc1": ("truth_rpc {folder} 1 1 200 1 0", 1.0, False),
    "rpc3": ("truth_rpc {folder} 3 1 150 1 0", 1.0, True),
    "rpc5": ("truth_rpc {folder} 5 1 100 1 0", 1.0, False),
    "rpc5_slow3": ("truth_rpc {folder} 5 1 100 1 3", 1.0, False),
    "rpc_concurrent": ("truth_rpc {folder} 1 32 40 4 0", 2.0, True),
    "rpc_spare": ("truth_rpc {folder} 1 6 200 4 0", 2.0, False),
    "rpc_two_servers": ("truth_rpc {folder} 2 8 40 4 0", 2.0, False),
    "pipe": ("truth_pair pipe 1000", 1.0, True),
    "unix": ("truth_pair unix 1000", 1.0, False),
    "eventfd": ("truth_pair eventfd 1000", 1.0, False),
    "epoll": ("truth_pair epoll 1000", 1.0, False),
    "udp": ("truth_pair udp 1000", 1.0, True),
    "tcp": ("truth_pair tcp 1000", 1.0, False),
    "futex": ("truth_pair futex 1000", 1.0, False),
    "signal": ("truth_pair signal 1000", 1.0, False),
    "half_close": ("truth_ends half 20", 1.0, False),
    "reset": ("truth_ends reset 100", 1.0, True),
    "room": ("truth_ends room 5", 1.0, False),
    "queue_unix": ("truth_queue unix 200", 1.0, True),
    "queue_pipe": ("truth_queue pipe 200", 1.0, True),
    "queue_eventfd": ("truth_queue eventfd 200", 1.0, False),
    "queue_futex": ("truth_queue futex 200", 1.0, True),
    "pool": ("truth_threads pool", 1.0, True),
    "convoy": ("truth_threads convoy", 2.0, False),
    "producer": ("truth_threads producer", 1.0, False),
    "tree": ("truth_process tree", 1.0, True),
    "vfork": ("truth_process vfork", 1.0, False),
    "timer": ("truth_process timer", 1.0, True),
    "poll_loop": ("truth_process poll", 1.0, False),
    "fsync": ("truth_process fsync {folder} {disk_cpu}", 1.0, True),
    "preempted": ("truth_process preempted", 1.0, True),
}


# Their client forks children, which have its name until they take another or run a program: so long they are clients, too.
FORKING = ("tree", "vfork")


class Report:
    """The folded text as {chain: {kind: ns}}; what was no one's deed is 'transit'."""

    def __init__(self, text, base, names):
        self.chains, self.total, self.lines = {}, 0, []
        for line in text.splitlines():
            stack, _, ns = line.rpartition(" ")
            frames = stack.split(";")
            if frames[0] != f"[{base}]":
                continue
            chain, kind = self.place(frames, names)
            self.total += int(ns)
            self.lines.append((int(ns), chain, kind, stack))
            kinds = self.chains.setdefault(chain, {})
            kinds[kind] = kinds.get(kind, 0) + int(ns)

    @staticmethod
    def place(frames, names):
        chain, below = [], []
        for i, frame in enumerate(frames):
            name = frame[1:-1] if frame.startswith("[") and frame.endswith("]") else None
            is_layer = name and (not chain or below and re.match(r"sleep:|tcp:|udp:|unix:|sched:", below[-1]) or
                                 name in names and i and frames[i - 1] != frame)
            if is_layer and not KERNEL.match(name):
                if not chain or chain[-1] != name:
                    chain.append(name)
                below = []
            else:
                below.append(frame)
        return ";".join(chain), Report.kind(below)

    @staticmethod
    def kind(below):
        last = below[-1] if below else ""
        sleeps = [frame for frame in below if frame.startswith("sleep:")]
        if last.startswith("path:"):
            return "queue"
        # "sleep:fdatasync FILE": the program's clock says disk until the call comes back, so waiting for a CPU in it is that, too
        if any(frame.startswith("io:") or frame.partition(" ")[0] in DISK_CALLS for frame in below):
            return "disk"
        if last == "sched:preempted":
            return "preempted"
        if sleeps and sleeps[-1] in SLEEP_CALLS:
            return "sleep"
        if not sleeps and not any(re.match(r"sched:|tcp:|udp:|unix:", frame) for frame in below):
            return "cpu"
        return "timeout" if sleeps and last == sleeps[-1] else "transit"


def judge(truth, report, unaccounted):
    """(ns in a wrong place, hops missing, the worst places). What is unaccounted is missing in its place, too, and counts there as well."""
    wrong, places, missing = 0, [(unaccounted, f"unaccounted: {unaccounted / 1e6:.2f} ms")], []
    held = tuple(chain + ";" for chain, kinds in truth["chains"].items() if "held" in kinds)
    for chain, kinds in truth["chains"].items():
        found = report.chains.get(chain, {})
        if not found:
            missing.append(chain)
        for kind in KINDS:
            known, seen = kinds.get(kind, 0), found.get(kind, 0)
            if kind == "queue":
                seen += found.get("transit", 0)
            if kind == "held":
                seen = sum(found.get(way, 0) for way in ("queue", "transit")) + sum(
                    sum(parts.values()) for under, parts in report.chains.items() if under.startswith(chain + ";"))
            if known > seen:
                wrong += known - seen
                places.append((known - seen, f"{chain} {kind}: {known / 1e6:.2f} ms, the report says {seen / 1e6:.2f}"))
    for chain, kinds in report.chains.items():
        for kind, ns in kinds.items():
            if chain not in truth["chains"] and not chain.startswith(held):
                wrong += ns
                places.append((ns, f"{chain} {kind}: {ns / 1e6:.2f} ms that are not so"))
    places.sort(reverse=True)
    return wrong, missing, [text for _, text in places[:5]]


def read_trace(binaries, store):
    """The exemplar of the aggregate, each piece of it."""
    keys = subprocess.run([f"{binaries}/wakepath-store", "ls", "-R", f"{store}/r"], check=True, capture_output=True, text=True,
                          timeout=60).stdout.split()
    key = next(key for key in keys if re.match(r"r/truth/trace\.", key))
    return json.loads(subprocess.run([f"{binaries}/wakepath-store", "cat", "--json", f"{store}/{key}"], check=True,
                                     capture_output=True, text=True, timeout=60).stdout)


def go_before_others():
    """Whoever waits for a CPU by its own clock still waits for its server; neighbours must not decide how often that happens."""
    os.setsid()
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    with contextlib.suppress(OSError):  # where each session is scheduled as a group
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write("-20")


def interrupts():
    with open("/proc/interrupts", encoding="ascii") as file:
        rows = [line.split() for line in file]
    count = len(rows[0])
    return {row[0]: [int(n) for n in row[1:count + 1]] for row in rows[1:] if row[0][:-1].isdigit()}


def disk_cpu(folder):
    """The processor that the disk of this folder interrupts. Woken from another one a thread is charged by its own clock with the time
    that the interrupt between the processors takes (wakeup_preempt() of kernel/sched/core.c leaves the queue's clock alone): it would
    call that work."""
    before = interrupts()
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(100):
            os.pwrite(file.fileno(), bytes(65536), 0)
            os.fdatasync(file.fileno())
    more = {irq: [now - was for now, was in zip(counts, before.get(irq, counts))] for irq, counts in interrupts().items()}
    most = max(more.values(), key=max, default=[0])
    return most.index(max(most))


def run(name, keep):
    command, bound, _ = CASES[name]
    folder = tempfile.mkdtemp(prefix="wakepath-truth-", dir="/var/tmp")
    try:
        binaries = os.environ["WAKEPATH_BIN"]
        program, *rest = command.format(folder=folder, disk_cpu=disk_cpu(folder) if "{disk_cpu}" in command else 0).split()
        written, store = os.path.join(folder, "truth.json"), os.path.join(folder, "store")
        report = ["--store", store, "--aggregate", "truth", "--format"]
        subprocess.run([f"{binaries}/wakepath", "record", "--quiet", "--out", f"{folder}/out", "--store", store,
                        "--release", "r", "--aggregate", "truth=comm=client", "--", "chrt", "--rr", "1", f"{binaries}/{program}", written, *rest],
                       check=True, timeout=120, stdin=subprocess.DEVNULL, preexec_fn=go_before_others)
        folded = subprocess.run([f"{binaries}/wakepath-reporter", *report, "folded"], check=True, capture_output=True,
                                text=True, timeout=60).stdout
        summary = json.loads(subprocess.run([f"{binaries}/wakepath-reporter", *report, "json"], check=True,
                                            capture_output=True, text=True, timeout=60).stdout)
        with open(written, encoding="utf-8") as file:
            truth = json.load(file)
        truth["trace"] = read_trace(binaries, store) if "requests" in truth else None
        if keep:
            os.makedirs(keep, exist_ok=True)
            with open(f"{keep}/{name}.folded", "w", encoding="utf-8") as file:
                file.write(folded)
            shutil.copy(written, f"{keep}/{name}.json")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if keep:
        with open(f"{keep}/{name}.report.json", "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=1)
    return truth, Report(folded, truth["base"], set(";".join(truth["chains"]).split(";"))), summary, bound


def own_ns(summary):
    """Of the thread that was the base and calls itself otherwise since."""
    return sum(process["total_ns"] for process in summary["processes"] if process["comm"] == "over")


def tell(name, truth, report, summary, options, bound):
    is_verbose, bound = options.verbose, options.bound or bound
    wrong, missing, places = judge(truth, report, summary["categories"]["unaccounted"])
    total = truth["total_ns"]
    unaccounted = summary["categories"]["unaccounted"]
    percent = 100 * (wrong + unaccounted) / total
    paths = own_ns(summary) if name in FORKING else report.total
    length = 100 * abs(paths - total) / total
    transit = 100 * sum(kinds.get("transit", 0) for kinds in report.chains.values()) / total
    hops = len(truth["chains"])
    good = percent <= bound and not missing and length <= bound and not summary["events"]["dropped"]
    print(f"{name:16} {total / 1e6:9.1f} ms  misattributed {percent:6.2f} %  (wrong {100 * wrong / total:.2f} %, unaccounted {100 * unaccounted / total:.2f} %)  hops {hops - len(missing)}/{hops}  "
          f"transit {transit:5.2f} %  length off {length:5.2f} %  uncertain {summary['uncertain_ns'] / 1e6:.2f} ms  "
          f"{'ok' if good else 'WRONG, at most %g %%' % bound}", flush=True)
    if is_verbose or not good:
        limits = [f"limit {limit['name']}: {limit['count']} times, {limit['ns'] / 1e6:.2f} ms" for limit in summary["limits"]]
        for text in places + [f"{chain}: not found" for chain in missing] + limits:
            print(f"    {text}")
    if truth["trace"]:
        good &= tell_requests(truth, Trace(truth["trace"], truth["base"]), bound, 1 if options.bound else 0)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bound", type=float, help="percent misattributed that is still right, for all cases")
    parser.add_argument("--quick", action="store_true", help="the cases of the quick set")
    parser.add_argument("--keep", help="folder for the truths and reports")
    parser.add_argument("--verbose", action="store_true", help="the worst places of right cases too")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    names = options.cases or [name for name, case in CASES.items() if case[2] or not options.quick]
    if options.list:
        print("\n".join(names))
        return 0
    good = True
    for name in names:
        truth, report, summary, bound = run(name, options.keep)
        good &= tell(name, truth, report, summary, options, bound)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
