#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""live_slowdown.py BIN_DIR [--trials N] [--each K] [--requests N] [--percent P] [--pool DIR] [--resample N]: T5 with a real program. A chain of servers
over TCP, each a process (tests/truth/programs/truth_rpc.c), is recorded by the real collector again and again, in random order: as it is, and with
one remote hop working P percent longer for each request. A release is K recordings. In each trial `wakepath-reporter check` compares an
older release with the slower one (is that hop named first?) and with another one like itself (is that an alarm?); no recording is in two
trials. Prints JSON, asserts nothing without --assert. With --pool the recordings stay, and a later run judges them again."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from interval import of_share

HOPS, SLOW, WORK_US = 3, 2, 1000
CHAIN = "client › hop1 › hop2"
KINDS = ("old", "equal", "slow")


def go_before_others():
    """As in tests/truth/compare.py: neighbours on this machine are not what is measured."""
    os.setpriority(os.PRIO_PROCESS, 0, -20)


def record(given, store, work_us):
    with tempfile.TemporaryDirectory(prefix="wakepath-bench-", dir="/var/tmp") as folder:
        program = [f"{given.bin}/truth_rpc", f"{folder}/truth.json", folder, str(HOPS), "1", str(given.requests), "1", str(SLOW), str(work_us)]
        priority = [] if given.fair else ["chrt", "--rr", "1"]
        subprocess.run([f"{given.bin}/wakepath", "record", "--quiet", "--out", f"{folder}/out", "--store", store, "--release", "r",
                        "--aggregate", "client=comm=client", "--", *priority, *program],
                       check=True, timeout=300, stdin=subprocess.DEVNULL, preexec_fn=None if given.fair else go_before_others)


def fill(given, pool):
    """trial-kind-number folders of one recording each; within a trial in random order, so that what drifts is in all of them alike."""
    rng = random.Random(given.seed)
    for trial in range(given.trials):
        turns = [(kind, i) for kind in KINDS for i in range(given.each)]
        rng.shuffle(turns)
        for kind, i in turns:
            store = f"{pool}/{trial:03}-{kind}-{i}"
            if not os.path.exists(f"{store}/done"):
                shutil.rmtree(store, ignore_errors=True)
                record(given, store, round(WORK_US * (1 + given.percent / 100)) if kind == "slow" else WORK_US)
                with open(f"{store}/done", "w", encoding="ascii") as mark:
                    mark.write("%.2f" % os.getloadavg()[0])


def check(given, before, after):
    """The same release name in K stores is one release: their sum."""
    with tempfile.TemporaryDirectory(prefix="wakepath-bench-", dir="/var/tmp") as folder:
        stores = []
        for i, pair in enumerate(zip(before, after)):
            for release, source in zip(("before", "after"), pair):
                shutil.copytree(f"{source}/r", f"{folder}/{i}/{release}")
            stores += ["--store", f"{folder}/{i}"]
        return compare(given, stores)


def compare(given, stores):
    done = subprocess.run([f"{given.bin}/wakepath-reporter", "check", *stores, "--aggregate", "client", "--per", given.per, "--format", "json",
                           *given.check, "before", "after"], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 2):
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def first_of(result):
    row = next((row for row in result["hops"] if row["verdict"] == "worse"), None)
    return row and f'{row["name"]}: {row["category"]}'


def judge(given, pool):
    trials = []
    for trial in range(given.trials):
        old, equal, slow = ([f"{pool}/{trial:03}-{kind}-{i}" for i in range(given.each)] for kind in KINDS)
        slow, equal = check(given, old, slow), check(given, old, equal)
        first, false = first_of(slow), worse(equal)
        trials.append({"found": bool(first) and first.startswith(CHAIN + ":"), "alarm": equal["degraded"]})
        print(f"live_slowdown: trial {trial + 1} of {given.trials}: first is {first}, false: {false}", file=sys.stderr, flush=True)
    return trials


def worse(result):
    return [f'{row["name"]} {row.get("category", "")} {row["percent"] or 0:.1f} %' for family in ("hops", "processes", "categories")
            for row in result[family] if row["verdict"] == "worse"]


def resample(given, pool):
    """More comparisons, drawn from all recordings of their kinds: each recording is in many of them, so they are not independent."""
    rng, alarms, found = random.Random(given.seed), 0, 0
    slow, equals = ([f"{pool}/{trial:03}-{kind}-{i}" for trial in range(given.trials) for kind in kinds for i in range(given.each)]
                    for kinds in (KINDS[2:], KINDS[:2]))
    for turn in range(given.resample):
        drawn = rng.sample(equals, 2 * given.each)
        result = check(given, drawn[:given.each], drawn[given.each:])
        alarms += result["degraded"]
        first = first_of(check(given, drawn[:given.each], rng.sample(slow, given.each)))
        found += bool(first) and first.startswith(CHAIN + ":")
        if result["degraded"]:
            print(f"live_slowdown: drawing {turn + 1}: false: {worse(result)}", file=sys.stderr, flush=True)
    return found, alarms


def loads(given, pool):
    values = []
    for trial in range(given.trials):
        for kind in KINDS:
            for i in range(given.each):
                with open(f"{pool}/{trial:03}-{kind}-{i}/done", encoding="ascii") as mark:
                    values.append(float(mark.read()))
    return min(values), max(values)


def main():
    parser = argparse.ArgumentParser(description="A slowdown in one remote hop of a real program: is it found? Prints JSON.")
    parser.add_argument("bin")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--each", type=int, default=4, help="recordings of a release")
    parser.add_argument("--requests", type=int, default=400, help="in a recording")
    parser.add_argument("--percent", type=float, default=5)
    parser.add_argument("--per", default="recording")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resample", type=int, default=0, metavar="N", help="so many more comparisons, drawn from all recordings")
    parser.add_argument("--fair", action="store_true", help="at the priority of everybody else")
    parser.add_argument("--pool", help="where the recordings are, and stay")
    parser.add_argument("--assert", dest="asserts", action="store_true", help="fail when the hop is not first in every trial")
    parser.add_argument("check", nargs="*", help="more for `wakepath-reporter check`, after --")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wakepath-bench-", dir="/var/tmp") as folder:
        pool = given.pool or folder
        os.makedirs(pool, exist_ok=True)
        fill(given, pool)
        trials, (low, high), more = judge(given, pool), loads(given, pool), resample(given, pool)
    found, alarms = sum(trial["found"] for trial in trials), sum(trial["alarm"] for trial in trials)
    print(json.dumps({"measure": "T5", "program": "truth_rpc", "slowdown_percent": given.percent, "trials": given.trials, "recordings_each": given.each,
                      "requests": given.requests, "load": [low, high], "ranked_first": found, "ranked_first_share_95": of_share(found, given.trials),
                      "false_alarms": alarms, "false_alarm_share_95": of_share(alarms, given.trials), "drawn": given.resample, "drawn_first": more[0], "drawn_alarms": more[1]}))
    return 1 if given.asserts and (found < given.trials) else 0


if __name__ == "__main__":
    sys.exit(main())
