#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""startup.py BIN_DIR [BIN_DIR ...] [--runs N] [--command CMD...]: what `wakepath record -- CMD` (true) takes beyond CMD itself, of several builds by
turns; as root. Each run is timed from start to end, CMD alone right before it. Prints JSON: median, least and most in ms, asserts nothing."""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time


def timed(command, folder):
    start = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL)
    return 1000 * (time.monotonic() - start)


def spread(values):
    return {"median_ms": round(statistics.median(values), 1), "least_ms": round(min(values), 1), "most_ms": round(max(values), 1)}


def main():
    parser = argparse.ArgumentParser(description="What `wakepath record -- CMD` takes beyond CMD. Prints JSON.")
    parser.add_argument("bins", nargs="+", metavar="BIN_DIR")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--command", nargs="+", default=["true"])
    given = parser.parse_args()
    bins = [os.path.abspath(name) for name in given.bins]
    beyond, alone = {name: [] for name in bins}, []
    with tempfile.TemporaryDirectory(prefix="wakepath-bench-", dir="/var/tmp") as folder:
        for turn in range(given.runs + 1):
            for name in bins:
                bare = timed(given.command, folder)
                recorded = timed([f"{name}/wakepath", "record", "--quiet", "--out", "out", "--", *given.command], folder)
                if turn: # the first one fills caches: of files, and of unwind rows
                    alone.append(bare)
                    beyond[name].append(recorded - bare)
    print(json.dumps({"measure": "startup", "command": " ".join(given.command), "runs": given.runs, "load": os.getloadavg()[0],
                      "alone": spread(alone), "beyond": {name: spread(values) for name, values in beyond.items()}}))


if __name__ == "__main__":
    main()
