#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fault_table.py BIN [--trials N] [--seed N] [--group NAME]... [--only WORDS] [--limit S] [--jobs N] [--folder DIR] [--totals FILE]: puts faults
into sessions of the real programs until each has struck N times, holds each session's merged report against that of an undisturbed twin,
and prints the table. Exit status 1: something differs. Run as root. N is 1 in CI; `--trials 200` is the long run. With --totals
(trials.json beside this) the sessions are added to those before them, N is of all together, and a seed that was played is not
played again. --print: only the table, of all together."""
import argparse, concurrent.futures, fcntl, json, os, random, sys, time, traceback

import faults_crash, faults_disk, faults_kill, faults_network, faults_others
from twin import Captures, Difference, OutOfTime, Rig

GROUPS = {"kill": faults_kill, "crash": faults_crash, "network": faults_network, "disk": faults_disk, "others": faults_others}
COUNTS = ("trials", "sessions", "differences", "out_of_time")
HEAD = "| fault | trials | sessions | differences | out of time |\n| --- | --- | --- | --- | --- |"


def line(name, counts):
    return "| %s | %s |" % (name, " | ".join(str(counts[key]) for key in COUNTS))


class Totals:
    """{fault: {trials, sessions, differences, out_of_time, seeds}}, on disk after each session. Without a path: nothing is kept."""

    def __init__(self, path):
        self.path = path

    def change(self, name, change):
        """What `change` makes of the fault's counts, while nobody else counts."""
        with open(self.path + ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            rows = self.read()
            result = change(rows.setdefault(name, {**dict.fromkeys(COUNTS, 0), "seeds": []}))
            with open(self.path + ".new", "w", encoding="ascii") as file:
                json.dump(rows, file, indent=1)
                file.write("\n")
            os.rename(self.path + ".new", self.path)
            return result

    def read(self):
        if not os.path.exists(self.path):
            return {}
        with open(self.path, encoding="ascii") as file:
            return json.load(file)

    def trials(self, name):
        return self.read().get(name, {"trials": 0})["trials"] if self.path else 0

    def begin(self, name, seed):
        """False: that seed was played."""
        def take(row):
            is_new = seed not in row["seeds"]
            row["seeds"] += [seed] if is_new else []
            return is_new
        return not self.path or self.change(name, take)

    def add(self, name, counts):
        def sum_up(row):
            for key in COUNTS:
                row[key] += counts[key]
        if self.path:
            self.change(name, sum_up)

    def table(self):
        rows = self.read()
        return "\n".join([HEAD] + [line(name, rows[name]) for group in GROUPS.values() for name, _ in faults_of(group, True) if name in rows])


def play_once(captures, work, seed, is_first):
    """One session: (what it counts for, what is wrong or was too slow or None, is it to be played again)."""
    counts = dict.fromkeys(COUNTS, 0)
    with Rig(captures, hurries=not is_first) as rig:
        try:
            struck = work(rig, random.Random(seed))
            rig.same()
            return {**counts, "trials": struck, "sessions": 1}, None, False
        except OutOfTime as why:
            return {**counts, "out_of_time": 1}, "out of time: %s\n%s" % (str(why)[-1500:], rig.logs_of_all()), True
        except (Difference, OSError, AssertionError) as why:
            if not isinstance(why, Difference):
                traceback.print_exc()
            return {**counts, "trials": 1, "sessions": 1, "differences": 1}, "%s\n%s" % (why, rig.logs_of_all()), False


def strike(captures, work, seed):
    """One session: what it counts for, and what is wrong or was too slow, or None. Batches that are never taken look like a machine that is too
    slow: what ran out of time is played once more, before all others, and must not do so again."""
    counts, why, is_again = play_once(captures, work, seed, True)
    if not is_again:
        return counts, why
    again, why_again, is_again = play_once(captures, work, seed, False)
    again["out_of_time"] += counts["out_of_time"]
    if is_again:
        again.update(trials=1, sessions=1, differences=1)
    return again, "%s\nonce more: %s" % (why, why_again) if why_again else why


class Row:
    """What came of the sessions of one fault so far."""

    def __init__(self, name, given, totals):
        self.name, self.seed, self.totals = name, given.seed, totals
        self.trials = given.trials - totals.trials(name)
        self.begun, self.counts = 0, dict.fromkeys(COUNTS, 0)

    def take(self, number, counts, why):
        for key in COUNTS:
            self.counts[key] += counts[key]
        self.totals.add(self.name, counts)
        if why:
            print("%s: seed %d, session %d: %s" % (self.name, self.seed, number, why), file=sys.stderr, flush=True)

    def play(self, captures, work, pool, jobs, is_time):
        """As many sessions at once as there are jobs, until there are trials enough, or time is up."""
        running = {}
        while True:
            while len(running) < jobs and self.counts["trials"] < self.trials and self.begun < 4 * self.trials and (is_time() or not self.begun):
                self.begun += 1
                running[pool.submit(strike, captures, work, "%s %d %d" % (self.name, self.seed, self.begun))] = self.begun
            if not running:
                return
            for done in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                self.take(running.pop(done), *done.result())


def row(captures, name, work, given, totals):
    begin = time.monotonic()
    of = Row(name, given, totals)
    if of.trials <= 0:
        return 0
    if not totals.begin(name, given.seed):
        print("%s: seed %d was played" % (name, given.seed), file=sys.stderr)
        return 1
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        of.play(captures, work, pool, given.jobs, lambda: time.monotonic() - begin < given.limit)
    wrong = of.counts["differences"]
    if of.counts["trials"] < of.trials and time.monotonic() - begin < given.limit:
        wrong += 1
        print("%s: struck only %d times in %d sessions" % (name, of.counts["trials"], of.begun), file=sys.stderr)
    print(line(name, of.counts), flush=True)
    print("%s: %.1f s" % (name, time.monotonic() - begin), file=sys.stderr, flush=True)
    return wrong


def faults_of(group, is_long):
    return group.FAULTS + (getattr(group, "LONG", []) if is_long else [])


def main():
    parser = argparse.ArgumentParser(description="The fault table.")
    parser.add_argument("binaries", nargs="?")
    parser.add_argument("--trials", type=int, default=int(os.environ.get("WP_TRIALS", "3")))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", action="store_true", help="those that take half a minute each, too")
    parser.add_argument("--group", action="append", choices=GROUPS)
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds for each fault: its last session begins before")
    parser.add_argument("--only", default="", help="faults whose names hold these words")
    parser.add_argument("--jobs", type=int, default=1, help="sessions at once")
    parser.add_argument("--folder", default="/var/tmp", help="for captures, stores and spools")
    parser.add_argument("--totals", help="add to the counts in this file")
    parser.add_argument("--print", action="store_true", dest="is_table")
    given = parser.parse_args()
    totals = Totals(given.totals)
    if given.is_table:
        print(Totals(given.totals or os.path.join(os.path.dirname(os.path.abspath(__file__)), "trials.json")).table())
        return 0
    if not given.binaries:
        parser.error("the folder of the programs")
    captures = Captures(given.binaries, given.jobs, given.folder, strikes=max(2, min(4, given.trials)))
    try:
        captures.control()
        print(HEAD)
        wrong = sum(row(captures, name, work, given, totals) for group in given.group or GROUPS
                    for name, work in faults_of(GROUPS[group], given.long) if given.only in name)
    finally:
        captures.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
