#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fault_table.py BIN [--trials N] [--seed N] [--group NAME]... [--only WORDS] [--limit S] [--jobs N]: puts faults into sessions of the real programs until each has
struck N times, holds each session's merged report against that of an undisturbed twin, and prints the table of docs/delivery.md.
Exit status 1: something differs. Run as root. N is 3 in CI; `--trials 200` is the long run."""
import argparse, concurrent.futures, os, random, sys, time, traceback

import faults_disk, faults_kill, faults_network, faults_others
from twin import Captures, Difference, Rig

GROUPS = {"kill": faults_kill, "network": faults_network, "disk": faults_disk, "others": faults_others}


def strike(captures, work, seed):
    """One session. (faults that struck, what is wrong or None)"""
    with Rig(captures) as rig:
        try:
            struck = work(rig, random.Random(seed))
            rig.same()
            return struck, None
        except (Difference, OSError, AssertionError) as why:
            if not isinstance(why, Difference):
                traceback.print_exc()
            return 1, "%s\n%s" % (why, rig.logs_of_all())


class Row:
    """What came of the sessions of one fault so far."""

    def __init__(self, name, trials, seed):
        self.name, self.trials, self.seed = name, trials, seed
        self.begun = self.struck = self.sessions = self.differences = 0

    def take(self, number, count, wrong):
        self.sessions += 1
        self.struck += count
        if wrong:
            self.differences += 1
            print("%s: seed %d, session %d: %s" % (self.name, self.seed, number, wrong), file=sys.stderr)

    def play(self, captures, work, pool, jobs, is_time):
        """As many sessions at once as there are jobs, until there are trials enough, or time is up."""
        running = {}
        while True:
            while len(running) < jobs and self.struck < self.trials and self.begun < 4 * self.trials and (is_time() or not self.begun):
                self.begun += 1
                running[pool.submit(strike, captures, work, "%s %d %d" % (self.name, self.seed, self.begun))] = self.begun
            if not running:
                return
            for done in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                self.take(running.pop(done), *done.result())


def row(captures, name, work, trials, seed, limit_s, jobs):
    begin = time.monotonic()
    of = Row(name, trials, seed)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        of.play(captures, work, pool, jobs, lambda: time.monotonic() - begin < limit_s)
    struck, sessions, differences = of.struck, of.sessions, of.differences
    if struck < trials and time.monotonic() - begin < limit_s:
        differences += 1
        print("%s: struck only %d times in %d sessions" % (name, struck, sessions), file=sys.stderr)
    print("| %s | %d | %d | %d |" % (name, struck, sessions, differences), flush=True)
    print("%s: %.1f s" % (name, time.monotonic() - begin), file=sys.stderr)
    return differences


def faults_of(group, is_long):
    return group.FAULTS + (getattr(group, "LONG", []) if is_long else [])


def main():
    parser = argparse.ArgumentParser(description="The fault table.")
    parser.add_argument("binaries")
    parser.add_argument("--trials", type=int, default=int(os.environ.get("WP_TRIALS", "3")))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", action="store_true", help="those that take half a minute each, too")
    parser.add_argument("--group", action="append", choices=GROUPS)
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds for each fault: its last session begins before")
    parser.add_argument("--only", default="", help="faults whose names hold these words")
    parser.add_argument("--jobs", type=int, default=1, help="sessions at once")
    given = parser.parse_args()
    captures = Captures(given.binaries, given.jobs)
    try:
        captures.control()
        print("| fault | trials | sessions | differences |\n| --- | --- | --- | --- |")
        wrong = sum(row(captures, name, work, given.trials, given.seed, given.limit, given.jobs) for group in given.group or GROUPS
                    for name, work in faults_of(GROUPS[group], given.long) if given.only in name)
    finally:
        captures.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
