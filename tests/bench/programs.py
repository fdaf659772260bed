#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""programs.py BIN_DIR [BIN_DIR ...] [--runs N]: which of the collector's BPF programs run for a message that a thread sends to itself
(bench_message, over a unix socket and over TCP), how often each and how long, by the kernel's own statistics (kernel.bpf_stats_enabled, while
it runs), as JSON. Of several builds, by turns. `ns` is the mean of a run, the clock's reading with it (some 20 ns of each), the least of N runs;
`ns_a_message` the programs' together; `messages_ns` the thread's processor time, with the statistics. What the rest of the machine does counts as well: an idle one,
as root. Scheduling as a real-time thread where that is allowed."""
import argparse, json, os, tempfile
from importlib.machinery import SourceFileLoader

HERE = os.path.dirname(os.path.abspath(__file__))
MEASURE = SourceFileLoader("measure", os.path.join(HERE, "measure.py")).load_module()
MESSAGES = 200000 # of bench_message
STATISTICS = "/proc/sys/kernel/bpf_stats_enabled"


def programs():
    """Runs and nanoseconds by program, of all processes that have any."""
    listed = json.loads(MEASURE.run("bpftool", "-j", "prog", "show"))
    return {row["id"]: (row.get("name", "?"), row.get("run_cnt", 0), row.get("run_time_ns", 0)) for row in listed
            if row.get("name", "").startswith("wp_")}


def count(bench, kind, known):
    """By program (runs a message, ns a run), and ns of the thread's a message."""
    collector = bench.start_collector("--output", bench.path("capture"))
    try:
        before = programs()
        taken = float(MEASURE.run("chrt", "-f", "10", bench.program("bench_message"), kind).split()[0])
        after = programs()
    finally:
        bench.end_collector(collector)
    rows = {}
    for number, (name, runs, ns) in after.items():
        if number in known:
            continue
        runs, ns = runs - before[number][1], ns - before[number][2]
        if runs >= MESSAGES / 100:
            rows[name] = (runs / MESSAGES, ns / runs)
    return rows, taken


def summed(results):
    names = sorted({name for rows, _ in results for name in rows})
    table = {name: {"runs": round(min(rows[name][0] for rows, _ in results if name in rows), 3),
                    "ns": round(min(rows[name][1] for rows, _ in results if name in rows), 1)} for name in names}
    return {"programs": table, "runs_a_message": round(sum(row["runs"] for row in table.values()), 2),
            "ns_a_message": round(sum(row["runs"] * row["ns"] for row in table.values())), "messages_ns": min(taken for _, taken in results)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", nargs="+")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with open(STATISTICS, encoding="ascii") as file:
        was = file.read()
    results = {folder: {"unix": [], "tcp": []} for folder in options.bin}
    with tempfile.TemporaryDirectory() as folder:
        with open(STATISTICS, "w", encoding="ascii") as file:
            file.write("1")
        try:
            for _ in range(options.runs):
                for build, kinds in results.items():
                    bench = MEASURE.Bench(build, folder, 1, 0)
                    for kind, rows in kinds.items():
                        rows.append(count(bench, kind, set(programs())))
        finally:
            with open(STATISTICS, "w", encoding="ascii") as file:
                file.write(was)
    print(json.dumps({"kernel": os.uname().release, **{build: {kind: summed(rows) for kind, rows in kinds.items()}
                                                       for build, kinds in results.items()}}, indent=1))


if __name__ == "__main__":
    main()
