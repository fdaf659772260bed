#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What collector and aggregator hold while connections and processes come and go: their memory and open files over time, as JSON.

churn.py BIN [--seconds S] [--connections A_SECOND] [--forks A_SECOND] [--every S] [--session-limit BYTES] [--metrics PORT]

BIN has the programs and `churn`. Traces the live kernel, so it needs root. `collector` and `aggregator` are rows of
[second, kilobytes resident, open files, kilobytes that are no file's], which standard error has as they are measured; `*_growth_kb`
is what the last quarter has more than the second, on average."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request


def held(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as maps:
        kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in maps if line.startswith(("Rss:", "Anonymous:"))}
    return kilobytes["Rss"], len(os.listdir(f"/proc/{pid}/fd")), kilobytes["Anonymous"]


def counted(port):
    """What the aggregator says its sessions hold, in kilobytes, and how many there are."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#"))
    return int(float(lines["wakepath_aggregator_held_bytes"])) // 1024, int(float(lines["wakepath_aggregator_sessions"]))


def growth(rows):
    def mean(part):
        return sum(row[1] for row in part) / max(len(part), 1)
    quarter = len(rows) // 4
    return round(mean(rows[-quarter:]) - mean(rows[quarter:2 * quarter])) if quarter else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--forks", type=int, default=200)
    parser.add_argument("--every", type=float, default=5)
    parser.add_argument("--session-limit")
    parser.add_argument("--metrics", type=int, help="a free port: rows of the aggregator have what it says its sessions hold, too")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="wp-churn-")
    endpoint = f"ipc://{folder}/s"
    logs = [open(f"{folder}/{name}.log", "w+", encoding="utf-8") for name in ("aggregator", "collector")]
    aggregator = subprocess.Popen([f"{options.bin}/wakepath-aggregator", "--no-config", "--bind", endpoint, "--store", f"{folder}/store",
                                   "--aggregate", "main=comm=churn"] +
                                  (["--metrics", f"127.0.0.1:{options.metrics}"] if options.metrics else []), stderr=logs[0])
    collector = subprocess.Popen([f"{options.bin}/wakepath-collector", "--no-config", "--connect", endpoint, "--spool", f"{folder}/spool",
                                  "--overhead-limit", "none", "--stats"] +
                                 (["--session-limit", options.session_limit] if options.session_limit else []),
                                 stdout=subprocess.PIPE, stderr=logs[1], text=True)
    time.sleep(3)
    churn = subprocess.Popen([f"{options.bin}/churn", str(options.connections), str(options.forks), str(options.seconds)],
                             stdout=subprocess.PIPE, text=True)
    rows = {"collector": [], "aggregator": []}
    start = time.monotonic()
    try:
        while churn.poll() is None and collector.poll() is None and aggregator.poll() is None:
            at = round(time.monotonic() - start, 1)
            for name, process in (("collector", collector), ("aggregator", aggregator)):
                said = counted(options.metrics) if options.metrics and process == aggregator else ()
                rows[name].append([at, *held(process.pid), *said])
                print(name, *rows[name][-1], file=sys.stderr, flush=True)
            time.sleep(options.every)
        made = json.loads(churn.communicate()[0])
        collector.send_signal(signal.SIGTERM)
        stats = collector.communicate(timeout=120)[0]
        aggregator.send_signal(signal.SIGTERM)
        aggregator.wait(120)
    finally:
        for process in (churn, collector, aggregator):
            if process.poll() is None:
                process.kill()
                process.wait()
    texts = []
    for log in logs:
        log.seek(0)
        texts.append(log.read())
    shutil.rmtree(folder)
    json.dump({"asked": vars(options) | {"bin": None}, "made": made, "collector_exit": collector.returncode,
               "aggregator_exit": aggregator.returncode, "counted": json.loads(stats) if stats.strip() else None,
               "renewals": texts[1].count("the session continues in a new one"), "refused": texts[0].count("refused"),
               "collector_growth_kb": growth(rows["collector"]), "aggregator_growth_kb": growth(rows["aggregator"]), **rows},
              sys.stdout, indent=None)
    print()
    return 0 if not collector.returncode and not aggregator.returncode else 1


if __name__ == "__main__":
    sys.exit(main())
