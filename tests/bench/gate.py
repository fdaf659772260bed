#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gate.py BIN_DIR [--form command|service] [--base N] [--slow N] [--each K] [--draws N] [--equals N] [--pool DIR]: how often `wakepath-reporter
check`, as it is called without options, finds one hop that takes 5, 20 or 50 % longer, and how often it raises an alarm where nothing changed. A chain
of servers over TCP (tests/truth/programs/truth_rpc.c) is recorded by the real collector, as a command from start to end or as a service that goes on
before and after; the kinds in random order. Comparisons of K recordings a side are drawn from these. Found: exit status 2, and the slower hop is the
first of those that are worse. Prints JSON, asserts nothing. With --pool the recordings stay, and a later run judges them again."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from interval import of_share

HOPS, SLOW, WORK_US = 3, 2, 1000
PERCENTS = (0, 5, 20, 50)
AGGREGATE = {"command": "main", "service": "service"}


def go_before_others():
    """As in tests/truth/compare.py: neighbours on this machine are not what is measured."""
    os.setpriority(os.PRIO_PROCESS, 0, -20)


def program(given, folder, requests, work_us):
    priority = [] if given.fair else ["chrt", "--rr", "1"]
    return [*priority, f"{given.bin}/truth_rpc", f"{folder}/truth.json", folder, str(HOPS), "1", str(requests), "1", str(SLOW), str(work_us)]


def wait_for_start(running):
    """Until its client asks: a service's start is no part of what it is compared by."""
    tasks, until = f"/proc/{running.pid}/task", time.monotonic() + 60
    while running.poll() is None and time.monotonic() < until:
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/comm", encoding="utf-8") as name:
                if name.read().strip() == "client" and task != str(running.pid):
                    return
        time.sleep(0.05)
    raise RuntimeError("the service did not start")


def record(given, store, work_us):
    before = None if given.fair else go_before_others
    folder = f"{given.pool}/.run"  # the same for all: recordings of another command line are filed apart
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        line = [f"{given.bin}/wakepath", "record", "--quiet", "--out", f"{folder}/out", "--store", store, "--release", "r"]
        if given.form == "command":
            subprocess.run([*line, "--", *program(given, folder, given.requests, work_us)], check=True, timeout=300, stdin=subprocess.DEVNULL,
                           preexec_fn=before)
            return
        with subprocess.Popen(program(given, folder, 100 * given.requests, work_us), stdin=subprocess.DEVNULL, preexec_fn=before,
                              start_new_session=True) as running:
            try:
                wait_for_start(running)
                subprocess.run([*line, "--aggregate", "service=comm=client", "--duration", str(given.seconds)], check=True, timeout=300,
                               stdin=subprocess.DEVNULL)
            finally:
                os.killpg(running.pid, 9)
    finally:
        shutil.rmtree(folder)


def fill(given, pool):
    """PERCENT-NUMBER folders of one recording each, in random order, so that what drifts is in all kinds alike."""
    turns = [(percent, i) for percent in PERCENTS for i in range(given.slow if percent else given.base)]
    random.Random(given.seed).shuffle(turns)
    for percent, i in turns:
        store = f"{pool}/{percent:02}-{i:03}"
        if os.path.exists(f"{store}/done"):
            continue
        shutil.rmtree(store, ignore_errors=True)
        record(given, store, round(WORK_US * (1 + percent / 100)))
        with open(f"{store}/done", "w", encoding="ascii") as mark:
            mark.write("%.2f" % os.getloadavg()[0])


def check(given, before, after):
    """The same release name in K stores is one release: their sum."""
    with tempfile.TemporaryDirectory(prefix=".drawn-", dir=given.pool) as folder:
        stores = []
        for i, pair in enumerate(zip(before, after)):
            for release, source in zip(("before", "after"), pair):
                os.makedirs(f"{folder}/{i}/{release}")
                os.link(f"{given.pool}/{source}/r/data.mdb", f"{folder}/{i}/{release}/data.mdb")
            stores += ["--store", f"{folder}/{i}"]
        done = subprocess.run([f"{given.bin}/wakepath-reporter", "check", *stores, "--aggregate", AGGREGATE[given.form], "--format", "json",
                               *given.check, "before", "after"], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 2):
        raise RuntimeError(done.stderr)
    result = json.loads(done.stdout)
    if result["degraded"] != (done.returncode == 2):
        raise RuntimeError("the exit status is not the verdict")
    return result


def worse(result):
    return [f'{row["name"]} {row.get("category", "")} {row["percent"] or 0:+.1f} % p {row["p_adjusted"]:.2g}'
            for family in ("whole", "hops", "processes", "categories") for row in result[family] if row["verdict"] == "worse"]


def is_named(result):
    first = next((row["name"] for row in result["hops"] if row["verdict"] == "worse"), "")
    return first.endswith(f"hop{SLOW}")


def pick(given, rng, percent, number):
    names = sorted(name for name in os.listdir(given.pool) if name.startswith(f"{percent:02}-") and os.path.exists(f"{given.pool}/{name}/done"))
    return rng.sample(names, number)


def judge(given):
    rng, rows, alarms, changes = random.Random(given.seed), [], 0, 0
    for percent in PERCENTS[1:]:
        found = named = 0
        for _ in range(given.draws):
            result = check(given, pick(given, rng, 0, given.each), pick(given, rng, percent, given.each))
            found += result["degraded"]
            named += is_named(result)
        rows.append({"percent": percent, "draws": given.draws, "found": found, "named_first": named, "found_share_95": of_share(found, given.draws)})
        print(f"gate: {rows[-1]}", file=sys.stderr, flush=True)
    for turn in range(given.equals):
        drawn = pick(given, rng, 0, 2 * given.each)
        result = check(given, drawn[:given.each], drawn[given.each:])
        alarms += result["degraded"]
        changes += any(row["verdict"] in ("worse", "better") for family in ("whole", "hops", "processes", "categories") for row in result[family])
        if result["degraded"]:
            print(f"gate: equals {turn + 1}: {worse(result)}", file=sys.stderr, flush=True)
    return rows, {"draws": given.equals, "alarms": alarms, "any_change": changes, "alarm_share_95": of_share(alarms, given.equals)}


def loads(given):
    values = []
    for name in os.listdir(given.pool):
        if os.path.exists(f"{given.pool}/{name}/done"):
            with open(f"{given.pool}/{name}/done", encoding="ascii") as mark:
                values.append(float(mark.read()))
    return [min(values), max(values)]


def main():
    parser = argparse.ArgumentParser(description="Planted slowdowns of one hop: does `check` find them, and nothing else? Prints JSON.")
    parser.add_argument("bin")
    parser.add_argument("--form", choices=sorted(AGGREGATE), default="command")
    parser.add_argument("--base", type=int, default=24, help="recordings of the program as it is")
    parser.add_argument("--slow", type=int, default=12, help="recordings of each slower one")
    parser.add_argument("--each", type=int, default=3, help="recordings a side")
    parser.add_argument("--draws", type=int, default=100, help="comparisons with each slower one")
    parser.add_argument("--equals", type=int, default=400, help="comparisons of equals")
    parser.add_argument("--requests", type=int, default=200, help="in a recording of a command")
    parser.add_argument("--seconds", type=float, default=5, help="of a recording of a service")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fair", action="store_true", help="at the priority of everybody else")
    parser.add_argument("--pool", help="where the recordings are, and stay")
    parser.add_argument("check", nargs="*", help="more for `wakepath-reporter check`, after --")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wakepath-bench-", dir="/var/tmp") as folder:
        given.pool = given.pool or folder
        os.makedirs(given.pool, exist_ok=True)
        fill(given, given.pool)
        rows, equals = judge(given)
        print(json.dumps({"measure": "gate", "form": given.form, "recordings_a_side": given.each, "load": loads(given), "slower": rows,
                          "equals": equals}))


if __name__ == "__main__":
    main()
