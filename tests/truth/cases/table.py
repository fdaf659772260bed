#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py NAME REPORT.json [PERCENT]: a table like the one that the paper prints of its cases, and its figures.

Fails when less than PERCENT (99.5) of the time is accounted for, and names what is not.
"""
import json
import sys

# category: its title, from best to least understood
ROWS = {
    "understood_functions": "in understood functions", "blocking_io": "blocking I/O active",
    "running_not_sampled": "running but not sampled", "message_in_flight": "message in flight",
    "io_queue": "I/O queue", "scheduler": "scheduler overhead", "remote_not_traced": "remote, not traced",
    "deliberate_sleep": "deliberate sleep", "hardware_wait": "waits for hardware", "involuntary": "involuntary sleeps",
    "kernel_block": "other kernel blocks", "timeout": "timed out", "other_path": "waiting on other path",
    "unaccounted": "unaccounted",
}
# case: (its name in the paper, wall ms, percent accounted)
PAPER = {"mail": ("Squirrelmail", 265, 99.6), "xterm": ("xterm launch", 315, 95.2), "store": ("SpatialTable", 74, 99.7), "clients": ("SpatialTable", 74, 99.7),
         "make": ("make", 4438, 96.1), "video": ("MPlayer", 2180, 96.8)}


def main():
    name, path = sys.argv[1:3]
    wanted = float(sys.argv[3]) if len(sys.argv) > 3 else 99.5
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    total, other = report["total_ns"], report["categories"]["other_path"]
    print(f"{name}: wall {report['wall_ns'] / 1e6:.1f} ms, total {total / 1e6:.1f} ms")
    explained = 0
    for category, title in ROWS.items():
        ns = report["categories"][category]
        if category not in ("other_path", "unaccounted"):
            explained += ns
        share = f"{100 * explained / (total - other):6.2f} % so far" if total > other and category != "other_path" else ""
        print(f"  {title:26} {ns / 1e6:10.2f} ms  {100 * ns / max(total, 1):6.2f} %  {share}")
    accounted = 100 * (1 - report["categories"]["unaccounted"] / max(total, 1))
    told = PAPER.get(name)
    beside = f"; the paper's {told[0]}: {told[2]} % of {told[1]} ms" if told else ""
    print(f"  accounted {accounted:.2f} %{beside}; dropped events {report['events']['dropped']}, "
          f"uncertain {report['uncertain_ns'] / 1e6:.2f} ms")
    for wait in report["unexplained"]:
        print(f"  unexplained: {wait['ns'] / 1e6:.2f} ms in {wait['stack']}: {wait['reason']} (thread {wait['tid']})")
    return 0 if accounted >= wanted and total else 1


if __name__ == "__main__":
    sys.exit(main())
