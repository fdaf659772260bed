#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a server did while requests lay unread in its sockets: the report of one whose event loop is blocked (programs/busy_loop.py, or --way
tokio of programs/tokio; tokio-plain: as a release without lines of source) against what it
wrote down itself, by function that its loop was in. Prints what is misattributed, in percent of the time unread: what the truth has of a function and
the report has not. As time in a function may stand what the report calls a wait for a CPU, up to what the scheduler says of it. `--bound`: fails above
it, and where parts are not the whole, to the nanosecond."""
import argparse
import bisect
import json
import os
import subprocess
import sys
import tempfile
from importlib.machinery import SourceFileLoader

HERE = os.path.dirname(os.path.abspath(__file__))
TOKIO = SourceFileLoader("tokio_program", os.path.join(HERE, "tokio_program.py")).load_module()
TASKS = {"asyncio": "task Shop.answer › ", "tokio": "task busy_loop::answer › ", "tokio-plain": "task busy_loop::answer › "}


def known(truth):
    """{function: nanoseconds in which requests lay unread in it}, all of that time, and what of it the loop had no CPU in a function."""
    read = {(client, number): ns for client, number, ns in truth["reads"]}
    work = sorted((since, until, what, delay) for what, since, until, delay in truth["work"])
    starts, sums, whole, delays = [row[0] for row in work], {}, 0, 0
    for client, number, before, after in truth["sent"]:
        until = read[client, number]
        sent = min((before + after) // 2, until)
        whole += until - sent
        for at in range(max(bisect.bisect_right(starts, sent) - 1, 0), bisect.bisect_left(starts, until)):
            since, end, what, delay = work[at]
            part = max(0, min(end, until) - max(since, sent))
            sums[what] = sums.get(what, 0) + part
            delays += delay * part // (end - since)
    return sums, whole, delays


def told(folder, name, aggregate):
    """The rows of requests of the report."""
    rows = os.path.join(folder, "rows")
    subprocess.run([os.path.join(os.environ["WAKEPATH_BIN"], "wakepath"), "report", "--store", os.path.join(folder, "out", "store"), "--release",
                    name, "--aggregate", aggregate, "--format", "ndjson", "--out", rows], check=True)
    with open(rows, encoding="utf-8") as file:
        return [row for row in map(json.loads, file) if row["table"] == "requests"]


def record(folder, arguments):
    truth = os.path.join(folder, "truth")
    program = [arguments.python, os.path.join(HERE, "programs", "busy_loop.py")]
    if arguments.way != "asyncio":
        program = [TOKIO.build("busy_loop", folder, arguments.way == "tokio")]
    subprocess.run([*arguments.before.split(), os.path.join(os.environ["WAKEPATH_BIN"], "wakepath"), "record", "--out", os.path.join(folder, "out"),
                    "--release", "truth", "--", *arguments.before.split(), *program, truth, str(arguments.clients),
                    str(arguments.requests)], check=True, stdout=subprocess.DEVNULL)
    with open(truth, encoding="ascii") as file:
        return json.load(file)


def plain(function):
    """Its last name: of "task Shop.answer › Shop.price_order" price_order."""
    return function.rpartition(" › ")[2].rpartition(".")[2].rpartition("::")[2]


def judge(truth, rows, task, bound):
    sums, unread, delays = known(truth)
    found, parts = {}, {}
    for row in rows:
        parts[row["part"] == "whole"] = parts.get(row["part"] == "whole", 0) + row["ns"]
        if row["part"] == "unread":
            what = row["function"] if row["function"].startswith("sched:") else plain(row["function"]) or row["who"]
            found[what] = found.get(what, 0) + row["ns"]
    kept = sum(ns for what, ns in found.items() if what.startswith("sched:"))
    wrong = max(0, sum(max(0, ns - found.get(what, 0)) for what, ns in sums.items()) - min(kept, delays))
    in_tasks = [row["ns"] for row in rows if row["function"].startswith(task) and row["function"].endswith(tuple(sums))]
    tasks = sum(in_tasks) / max(1, sum(found.get(what, 0) for what in sums))
    for what, ns in sorted(sums.items()):
        print(f"  {what:20} {ns / 1e6:9.2f} ms, the report says {found.get(what, 0) / 1e6:9.2f}")
    others = {what: ns for what, ns in found.items() if what not in sums}
    print(f"  {'others':20} {(unread - sum(sums.values())) / 1e6:9.2f} ms, the report says {sum(others.values()) / 1e6:9.2f}: "
          + f"without a CPU {kept / 1e6:.2f} (in functions {delays / 1e6:.2f}), " + ", ".join(f"{what or '-'} {ns / 1e6:.2f}" for what, ns in sorted(others.items(), key=lambda row: -row[1])[:5]))
    percent = 100 * wrong / unread
    print(f"  unread {unread / 1e6:.2f} ms of {len(truth['sent'])} requests, misattributed {percent:.2f} %, of the functions in "
          f"their task {100 * tasks:.2f} %, parts are {parts[False] - parts[True]:+} ns of the whole", flush=True)
    return bound is None or (percent <= bound and parts[False] == parts[True] and (tasks > 0.9 or not task))


def task_of(way):
    """What begins the names of functions in tasks; "": older compilers have no name for the first one."""
    version = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.split()[1] if way == "tokio-plain" else ""
    return "" if version and int(version.split(".")[1]) < 67 else TASKS[way]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bound", type=float)
    parser.add_argument("--way", choices=TASKS, default="asyncio")
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--requests", type=int, default=200, help="of each client")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--before", default="", help="what everything is run by, as 'chrt -f 10'")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        truth = record(folder, arguments)
        return 0 if judge(truth, told(folder, "truth", "main" if arguments.way == "asyncio" else "main.threads"), task_of(arguments.way), arguments.bound) else 1


if __name__ == "__main__":
    sys.exit(main())
