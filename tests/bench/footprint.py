#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""footprint.py BIN_DIR [--processes N] [--seconds N]: memory of the collector on a host of many processes (500), as JSON.

The processes are interpreters and small programs by turns (those of the list that are installed), each of which wakes ten times a second. Megabytes at
the end, and the highest of rows of every second: `resident`, where a page counts once (Pss: the kernel's ring is mapped twice) and what others map as well by its
share; `anonymous`, which no file and no ring is part of; `shared`, which the ring and the buffers of its CPUs are, beside pages of its own file. An aggregator takes what it sends. As root; asserts nothing."""
import argparse, json, os, shutil, subprocess, sys, tempfile, time
from importlib.machinery import SourceFileLoader

HERE = os.path.dirname(os.path.abspath(__file__))
MEASURE = SourceFileLoader("measure", os.path.join(HERE, "measure.py")).load_module()
PROGRAMS = [["python3", "-c", "import time\nwhile 1: time.sleep(0.1)"], ["perl", "-e", "select(undef, undef, undef, 0.1) while 1"],
            ["bash", "-c", "exec 9<> <(:); while :; do read -t 0.1 -u 9; done"], ["ruby", "-e", "loop { sleep 0.1 }"],
            ["tail", "-s", "0.1", "-F", "/dev/null"], ["node", "-e", "setInterval(function () {}, 100)"]]


def held(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as maps:
        kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in maps if line.endswith("kB\n")}
    return {"resident": kilobytes["Pss"] / 1024, "anonymous": kilobytes["Anonymous"] / 1024, "shared": (kilobytes["Pss"] - kilobytes["Anonymous"]) / 1024}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--processes", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=30)
    options = parser.parse_args()
    found = [command for command in PROGRAMS if shutil.which(command[0])]
    started, rows = [], []
    with tempfile.TemporaryDirectory(prefix="wakepath-footprint-") as folder:
        try:
            for i in range(options.processes):
                started.append(subprocess.Popen(found[i % len(found)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                stderr=subprocess.DEVNULL, preexec_fn=MEASURE.die_with_parent))
            aggregator = subprocess.Popen([f"{options.bin}/wakepath-aggregator", "--no-config", "--bind", f"ipc://{folder}/s", "--store",
                                           f"{folder}/store", "--aggregate", "main=comm=python3", "--log-level", "error"],
                                          preexec_fn=MEASURE.die_with_parent)
            started.append(aggregator)
            collector = subprocess.Popen([f"{options.bin}/wakepath-collector", "--no-config", "--connect", f"ipc://{folder}/s", "--log-level",
                                          "error"], preexec_fn=MEASURE.die_with_parent)
            started.append(collector)
            for _ in range(options.seconds):
                time.sleep(1)
                rows.append(held(collector.pid))
            alive = sum(process.poll() is None for process in started[:options.processes])
        finally:
            for process in reversed(started): # the collector sends what it has, then the aggregator ends
                process.terminate()
                process.wait()
    json.dump({"machine": MEASURE.machine(), "processes": alive, "programs": [command[0] for command in found],
               "megabytes": {key: {"at_end": round(rows[-1][key], 1), "highest": round(max(row[key] for row in rows), 1)} for key in rows[-1]}},
              sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
