#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""slowdown.py BIN_DIR [--runs N] [--seconds S] [--percent P]: T5. A generated fleet in three releases: as it was, with one remote hop slower by P
percent, and as it was but on another day. Prints as JSON how often `wakepath-reporter check` names the slow hop first, and how often it
raises an alarm where nothing changed. Asserts nothing."""
import argparse, json, os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fleetgen"))
from generated import Generated

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
SLOW = "[db]@h4"


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


def main():
    parser = argparse.ArgumentParser(description="A slowdown in one remote hop: is it found? Prints JSON.")
    parser.add_argument("bin")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--percent", type=float, default=5)
    given = parser.parse_args()
    first, alarms, named = 0, 0, []
    for run in range(given.runs):
        with tempfile.TemporaryDirectory(prefix="wakepath-bench-", dir="/var/tmp") as folder:
            store = folder + "/store"
            record(given, store, "before", run, 1000 + 3 * run, 1000)
            record(given, store, "slower", run, 1001 + 3 * run, round(1000 * (1 + given.percent / 100)))
            record(given, store, "equal", run, 1002 + 3 * run, 1000)
            slower, equal = check(given, store, "slower"), check(given, store, "equal")
        found = slower["findings"][0]["sentence"] if slower["degraded"] and slower["findings"] else ""
        named.append(re.split(r" (?:runs|waits|is|takes|sleeps)\b", found)[0])
        first += found.startswith("web") and SLOW + " " in found
        alarms += equal["degraded"]
        print("slowdown: run %d of %d: first is '%s', false alarm: %s" % (run + 1, given.runs, found, equal["degraded"]), file=sys.stderr,
              flush=True)
    print(json.dumps({"measure": "T5", "slowdown_percent": given.percent, "seconds": given.seconds, "runs": given.runs, "ranked_first": first,
                      "ranked_first_share": first / given.runs, "false_alarms": alarms, "false_alarm_share": alarms / given.runs,
                      "named_first": sorted(set(named))}))


if __name__ == "__main__":
    main()
