#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""slowdown.py BIN_DIR [--runs N] [--seconds S] [--percent P]: T5. A generated fleet in three releases: as it was, with one remote hop slower by P
percent, and as it was but on another day. Prints as JSON how often `wakepath-reporter check` names the slow hop first, and how often it
raises an alarm where nothing changed, with the intervals of 95 % of both shares. Stopped by ^C it prints what it has. Asserts nothing."""
import argparse, json, os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fleetgen"))
from generated import Generated
from interval import of_share

PLAN = """hosts 5 cpus=4
service web hosts=1 threads=4 base pause=3000
 busy 500
 call api
 busy 200
service api hosts=2 threads=6
 busy 800
 call db+cache
 busy 300
service db hosts=1 threads=6
 busy %d
 disk 400
service cache hosts=1 threads=4
 busy 300
"""
SLOW = "db on h4"


def record(given, store, release, run, seed, busy_us):
    fleet = Generated(given.bin, PLAN % busy_us, seed, given.seconds, release=release, world=run + 1)
    try:
        fleet.replay(store)
    finally:
        fleet.close()


def check(given, store, new):
    done = subprocess.run([given.bin + "/wakepath-reporter", "check", "--store", store, "--aggregate", "web", "--format", "json", "--per",
                           "activity", "before", new], capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def trial(given, run):
    """(what is named first of the slower release, whether the equal one raises an alarm)"""
    with tempfile.TemporaryDirectory(prefix="wakepath-bench-", dir="/var/tmp") as folder:
        store = folder + "/store"
        record(given, store, "before", run, 1000 + 3 * run, 1000)
        record(given, store, "slower", run, 1001 + 3 * run, round(1000 * (1 + given.percent / 100)))
        record(given, store, "equal", run, 1002 + 3 * run, 1000)
        slower, equal = check(given, store, "slower"), check(given, store, "equal")
    return next((row["name"] for row in slower["hops"] if row["verdict"] == "worse"), ""), equal["degraded"]


def main():
    parser = argparse.ArgumentParser(description="A slowdown in one remote hop: is it found? Prints JSON.")
    parser.add_argument("bin")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--from", dest="begin", type=int, default=0, help="the number of the first run: the numbers of earlier ones make other fleets")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--percent", type=float, default=5)
    given = parser.parse_args()
    trials = []
    try:
        for run in range(given.begin, given.begin + given.runs):
            trials.append(trial(given, run))
            print("slowdown: run %d: first is '%s', false alarm: %s" % (run, *trials[-1]), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("slowdown: stopped", file=sys.stderr)
    first, alarms = sum(name.startswith("web") and name.endswith(SLOW) for name, _ in trials), sum(alarm for _, alarm in trials)
    print(json.dumps({"measure": "T5", "slowdown_percent": given.percent, "seconds": given.seconds, "runs": len(trials), "ranked_first": first,
                      "ranked_first_share_95": of_share(first, len(trials)), "false_alarms": alarms,
                      "false_alarm_share_95": of_share(alarms, len(trials)), "named_first": sorted({name for name, _ in trials})}))


if __name__ == "__main__":
    main()
