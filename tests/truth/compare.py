#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records programs that know their own waits and says how much of the time the report puts in the wrong place.

compare.py [OPTION...] [CASE...]   programs and wakepath are in $WAKEPATH_BIN

A truth is, for each chain of who waited for whom, how long it was on a processor, runnable without one, asleep, at the disk, timed
out, or in a queue behind others' work. *Wrong* is what the truth has in a place and the report has not, and what the report
has in chains that do not exist or on other paths that are none; *misattributed* is that and what the report calls unaccounted. Transit (between
one's send and the other's receive) belongs to nobody's truth; it is printed as a share of the total. Where the program has written down each of
its requests, each is held to a bound by itself (single_requests.py), when it runs as a real-time one.

Each case runs in the ways of --way: real-time with the recorder before all others, on processors of its own choice (rt); at ordinary priority where
the kernel likes, the recorder as well (ordinary); the same beside 4 and 16 processes that compute (load4, load16).
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from single_requests import Trace, tell_requests
from truth_cases import CASES, WAYS
from truth_table import NoOutcome, print_tables

KERNEL = re.compile(r"^(kworker|jbd2|ksoftirqd|migration|rcu_|kswapd|swapper|iou-|kthreadd)")
DISK_CALLS = {"sleep:fsync", "sleep:fdatasync", "sleep:sync", "sleep:pwrite64", "sleep:write"}
SLEEP_CALLS = {"sleep:nanosleep", "sleep:clock_nanosleep"}
WAITS_FOR_CPU = ("sched:runnable", "sched:preempted")  # since its waking, or since it had one
CROSSING_NS = 50000  # until an idle processor, a virtual one as well, has left its halt and taken the thread, or one in the kernel is out of it
KINDS = ("cpu", "runnable", "sleep", "disk", "timeout", "queue", "held")


class Report:
    """The folded text as {chain: {kind: ns}}; what was no one's deed is 'transit'."""

    def __init__(self, text, base, names):
        self.chains, self.total, self.lines, self.latency = {}, 0, [], {}
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
            if kind == "runnable" and next((frame for frame in reversed(frames) if frame in WAITS_FOR_CPU), None) == WAITS_FOR_CPU[0]:
                self.latency[chain] = self.latency.get(chain, 0) + int(ns)

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
        # of a kernel thread that works for it: it is asleep all the same
        if last.startswith("sched:") and not any(frame[0] == "[" and KERNEL.match(frame[1:]) for frame in below):
            return "runnable"
        if any(frame.startswith("io:") or frame.partition(" ")[0] in DISK_CALLS for frame in below):
            return "disk"
        if sleeps and sleeps[-1] in SLEEP_CALLS:
            return "sleep"
        if not sleeps and not any(re.match(r"sched:|tcp:|udp:|unix:", frame) for frame in below):
            return "cpu"
        return "timeout" if sleeps and last == sleeps[-1] else "transit"


def of_all(truth, kind):
    return sum(kinds.get(kind, 0) for kinds in truth["chains"].values())


def other_path_in_excess(truth, report):
    """Other paths of the report beyond the truth's. What they took from a place of the truth is missing there, too: it counts once. At its edges a wait
    may have been as much longer as the base had a processor in it (edge_ns): that is of no truth."""
    if any("held" in kinds for kinds in truth["chains"].values()):
        return 0
    seen = sum(kinds.get("queue", 0) for chain, kinds in report.chains.items() if chain in truth["chains"])
    known = of_all(truth, "queue") + of_all(truth, "answering_others")
    return max(0, seen - known - (truth.get("edge_ns", 0) + of_all(truth, "taking") if known else 0))


def seen_at(report, chain, kind):
    """What the report has in the place of that kind."""
    found = report.chains.get(chain, {})
    if kind == "queue":
        return found.get("queue", 0) + found.get("transit", 0)
    if kind == "held":
        return found.get("queue", 0) + found.get("transit", 0) + sum(
            sum(parts.values()) for under, parts in report.chains.items() if under.startswith(chain + ";"))
    return found.get(kind, 0)


class Spare:
    """What the report has beyond the certain truth at each place. A wake-up's latency goes beyond it where the scheduler's account of the delay
    begins only in the queue of the other processor, and ends before it has the processor: who is woken in place of another one has the clock
    of the waking (wakeup_preempt() of kernel/sched/core.c leaves the queue's alone), however long that one is still in the kernel."""

    def __init__(self, truth, report):
        self.left = {}
        for chain, kinds in truth["chains"].items():
            for kind in KINDS:
                self.left[chain, kind] = max(0, seen_at(report, chain, kind) - kinds.get(kind, 0))
            self.left[chain, "latency"] = min(report.latency.get(chain, 0), self.left[chain, "runnable"])
        self.calls = truth.get("calls", {})

    def without(self, ns, *places):
        """What of so much is in none of these places; what is, is used up."""
        for place in places:
            used = min(ns, self.left.get(place, 0))
            ns -= used
            if used:
                self.left[place] -= used
        return ns

    def but_for_latency(self, ns, woken, chain, kind):
        """What of so much of that kind is no latency of who is woken: each of the calls that it is of has one crossing."""
        most = min(ns, CROSSING_NS * self.calls.get(chain, {}).get(kind, 0))
        return ns - most + self.without(most, (woken, "latency"))


def ambiguous(truth, report):
    """(ns, chain, kind) of what the program's clocks leave open between two places, and the report has in neither.
    overslept: after what it slept for it was asleep, or woken already.
    disk: the same at its end, which is in the interrupt.
    waking: a thread's clock begins as the scheduler takes it up, before the processor is its own.
    taking: the same, and the queue ends somewhere in the call that takes the request.
    answering: who waits is woken in that call. What that one's processor needs to take it is the latency of its wake-up, beside the rest of the call.
    answering_others: the queue behind that one ends somewhere in the call.
    Of disk, waking, taking and answering a latency takes CROSSING_NS for each call at most: a halted processor is awake by then."""
    spare = Spare(truth, report)
    for chain, kinds in truth["chains"].items():
        before = chain.rpartition(";")[0]
        yield spare.without(kinds.get("overslept", 0), (chain, "sleep"), (chain, "held"), (chain, "latency")), chain, "overslept"
        missing = max(0, kinds.get("disk", 0) - seen_at(report, chain, "disk"))
        yield spare.but_for_latency(missing, chain, chain, "disk"), chain, "disk"
        waking, taking = (spare.without(kinds.get(kind, 0), (chain, "cpu")) for kind in ("waking", "taking"))
        yield spare.but_for_latency(waking, chain, chain, "waking"), chain, "waking"
        yield spare.without(spare.but_for_latency(taking, chain, chain, "taking"), (before, "queue")), chain, "taking"
    for chain, kinds in truth["chains"].items():
        before = chain.rpartition(";")[0]
        others = spare.without(kinds.get("answering_others", 0), (before, "queue"))
        own = spare.but_for_latency(kinds.get("answering", 0), before, chain, "answering")
        yield spare.without(others + own, (chain, "cpu")), chain, "answering"


def judge(truth, report, unaccounted):
    """(ns in a wrong place, hops missing, the worst places). What is unaccounted is missing in its place, too, and counts there as well."""
    wrong, places = 0, [(unaccounted, f"unaccounted: {unaccounted / 1e6:.2f} ms")]
    missing = [chain for chain in truth["chains"] if not report.chains.get(chain)]
    held = tuple(chain + ";" for chain, kinds in truth["chains"].items() if "held" in kinds)
    for chain, kinds in truth["chains"].items():
        for kind in KINDS:
            if kind == "disk":  # of which a clock leaves the end open
                continue
            known, seen = kinds.get(kind, 0), seen_at(report, chain, kind)
            if known > seen:
                wrong += known - seen
                places.append((known - seen, f"{chain} {kind}: {known / 1e6:.2f} ms, the report says {seen / 1e6:.2f}"))
    for ns, chain, kind in ambiguous(truth, report):
        wrong += ns
        places.append((ns, f"{chain} {kind}: {ns / 1e6:.2f} ms that the report has nowhere"))
    for chain, kinds in report.chains.items():
        for kind, ns in kinds.items():
            if chain not in truth["chains"] and not chain.startswith(held):
                wrong += ns
                places.append((ns, f"{chain} {kind}: {ns / 1e6:.2f} ms that are not so"))
    more = other_path_in_excess(truth, report)
    places.append((more, f"other path: {more / 1e6:.2f} ms more than there are"))
    wrong = max(wrong, more)
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


def record(way, folder, command):
    """What the program wrote down of itself lies in truth.json, the events in capture, what was recorded in the store. Returns the load average
    before it."""
    binaries = os.environ["WAKEPATH_BIN"]
    program, *rest = command.split()
    started = [*(["chrt", "--rr", "1"] if way.is_real_time else []), f"{binaries}/{program}", f"{folder}/truth.json", *rest]
    load = os.getloadavg()[0]
    subprocess.run([f"{binaries}/wakepath", "record", "--quiet", "--out", f"{folder}/out", "--store", f"{folder}/store", "--keep-capture", f"{folder}/capture",
                    "--release", "r", "--aggregate", "truth=comm=client", "--", *started], check=True, timeout=300,
                   stdin=subprocess.DEVNULL, env={**os.environ, **way.environment}, preexec_fn=go_before_others if way.is_real_time else None)
    return load


def keep_all(folder, kept, folded, summary):
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    with open(f"{kept}.folded", "w", encoding="utf-8") as file:
        file.write(folded)
    with open(f"{kept}.report.json", "w", encoding="utf-8") as file:
        json.dump(summary, file, indent=1)
    shutil.copy(f"{folder}/truth.json", f"{kept}.json")
    shutil.copy(f"{folder}/capture", f"{kept}.capture")
    shutil.rmtree(f"{kept}.store", ignore_errors=True)
    shutil.copytree(f"{folder}/store", f"{kept}.store")


def run(name, way, keep):
    text, binaries = way.command(name), os.environ["WAKEPATH_BIN"]
    folder = tempfile.mkdtemp(prefix="wakepath-truth-", dir="/var/tmp")
    try:
        report = ["--store", f"{folder}/store", "--aggregate", "truth", "--format"]
        load = record(way, folder, text.format(folder=folder, disk_cpu=disk_cpu(folder) if "{disk_cpu}" in text else 0))
        folded = subprocess.run([f"{binaries}/wakepath-reporter", *report, "folded"], check=True, capture_output=True,
                                text=True, timeout=60).stdout
        summary = json.loads(subprocess.run([f"{binaries}/wakepath-reporter", *report, "json"], check=True,
                                            capture_output=True, text=True, timeout=60).stdout)
        with open(f"{folder}/truth.json", encoding="utf-8") as file:
            truth = json.load(file)
        truth["trace"] = read_trace(binaries, f"{folder}/store") if "requests" in truth and way.is_real_time else None
        if keep:
            keep_all(folder, f"{keep}/{name}.{way.name}", folded, summary)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(truth, Report(folded, truth["base"], set(";".join(truth["chains"]).split(";"))), summary, load)


class Outcome:
    """Of one program in one way."""

    def __init__(self, truth, report, summary, load):
        self.truth, self.report, self.summary, self.load = truth, report, summary, load
        self.unaccounted = summary["categories"]["unaccounted"]
        self.wrong, self.missing, self.places = judge(truth, report, self.unaccounted)
        self.total, self.hops = truth["total_ns"], len(truth["chains"])
        self.length = self.percent_of(abs(report.total - self.total))
        self.percent = self.percent_of(self.wrong + self.unaccounted)
        self.untold = max(0, self.total - sum(sum(kinds.values()) for kinds in truth["chains"].values()))

    def percent_of(self, ns):
        return 100 * ns / self.total

    def is_good(self, bound):
        return self.percent <= bound and not self.missing and self.length <= bound and not self.summary["events"]["dropped"]

    def share(self, kind):
        return f"{kind} {self.percent_of(sum(kinds.get(kind, 0) for kinds in self.report.chains.values())):5.2f} %"

    def tell(self, name, bound, is_verbose):
        good = self.is_good(bound)
        print(f"{name:16} {self.total / 1e6:9.1f} ms  misattributed {self.percent:6.2f} %  (wrong {self.percent_of(self.wrong):.2f} %, unaccounted "
              f"{self.percent_of(self.unaccounted):.2f} %)  hops {self.hops - len(self.missing)}/{self.hops}  {self.share('runnable')}  {self.share('transit')}  "
              f"in no truth {self.percent_of(self.untold):5.2f} %  length off {self.length:5.2f} %  uncertain {self.summary['uncertain_ns'] / 1e6:.2f} ms  "
              f"load {self.load:.1f}  {'ok' if good else 'WRONG, at most %g %%' % bound}", flush=True)
        if is_verbose or not good:
            limits = [f"limit {limit['name']}: {limit['count']} times, {limit['ns'] / 1e6:.2f} ms" for limit in self.summary["limits"]]
            lost = [f"{self.summary['events']['dropped']} events dropped"] if self.summary["events"]["dropped"] else []
            for text in self.places + [f"{chain}: not found" for chain in self.missing] + limits + lost:
                print(f"    {text}", flush=True)
        return good

    def cell(self, bound):
        text = f"{self.percent:.2f} %"
        if self.missing:
            text += f", hops {self.hops - len(self.missing)}/{self.hops}"
        if self.summary["events"]["dropped"]:
            text += ", events lost"
        return text if self.is_good(bound) else f"**{text}**"


def outcome_of(name, way, keep):
    """Of a run that fails as well: a table of many programs goes on without it."""
    try:
        return run(name, way, keep)
    except (subprocess.SubprocessError, OSError, ValueError, KeyError, StopIteration) as error:
        return NoOutcome(error)


def hold_requests(outcome, bound):
    """Each request by itself, where the program has written them down. Forgets them."""
    truth = getattr(outcome, "truth", {"trace": None})
    good = not truth["trace"] or tell_requests(truth, Trace(truth["trace"], truth["base"]), bound, 1)
    truth["trace"] = None
    return good


def run_all(options, names, ways, rows, took_s):
    """Fills rows[case][way] and the seconds of each way."""
    good = True
    for way in ways:
        print(f"{WAYS[way].title}:", flush=True)
        began = time.monotonic()
        for name in names:
            outcome = rows[name][way] = outcome_of(name, WAYS[way], options.keep)
            good &= outcome.tell(name, options.bound or WAYS[way].bound, options.verbose)
            good &= hold_requests(outcome, options.bound or 2.0)
            took_s[way] = time.monotonic() - began
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bound", type=float, help="percent misattributed that is still right, for all cases")
    parser.add_argument("--way", action="append", choices=(*WAYS, "all"), help="how they run, rt if nothing is said; may be repeated")
    parser.add_argument("--table", action="store_true", help="tables at the end, in Markdown: of docs/truth.md and of README.md")
    parser.add_argument("--update", action="store_true", help="as --table, and writes them into those files")
    parser.add_argument("--leave-out", action="append", default=[], choices=CASES, metavar="CASE", help="may be repeated")
    parser.add_argument("--quick", action="store_true", help="the cases of the quick set")
    parser.add_argument("--keep", help="folder for the truths, reports, events and stores")
    parser.add_argument("--verbose", action="store_true", help="the worst places of right cases too")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    names = options.cases or [name for name, case in CASES.items() if case[1] or not options.quick]
    names = [name for name in names if name not in options.leave_out]
    if options.list:
        print("\n".join(names))
        return 0
    ways = list(WAYS) if "all" in (options.way or ()) else options.way or ["rt"]
    if options.update and (set(names) != set(CASES) or set(ways) != set(WAYS)):
        parser.error("--update: those tables have all cases in all ways (--way all)")
    rows, took_s = {name: {} for name in names}, {}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        good = run_all(options, names, ways, rows, took_s)
    except KeyboardInterrupt:  # what is there is told, and takes the place of nothing
        options.table |= options.update
        good = options.update = False
    if options.table or options.update:
        print_tables(rows, ways, took_s, options.update)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
