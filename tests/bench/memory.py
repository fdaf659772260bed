#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memory.py [--seconds N] [--aggregate NAME=SELECTOR]... BIN_DIR CAPTURE: replays a capture as fast as it is taken, with
--seconds made longer on the way (bench_stretch), and prints the aggregator's memory as JSON: the resident set at 10, 50 and 100 %
of the replay, the highest in each tenth of it, and the two halves' ratio (1 is flat). With --seconds also the bytes a live event:
what the replay made the resident set grow by at most, for each event of the window that the aggregator keeps (its history of 10 s, an
epoch, and the lateness allowed)."""
import argparse
import json
import os
import subprocess
import tempfile
import threading
import time

WINDOW_S = 10 + 1 + 2  # --history, --epoch and --lateness as they are by default


def resident_mb(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6  # 0 once it has ended


def start_aggregator(given, folder):
    ready, word = os.pipe()
    aggregates = [text for one in given.aggregate or ["main=comm=bench_pace"] for text in ("--aggregate", one)]
    aggregator = subprocess.Popen([f"{given.bin}/wakepath-aggregator", "--bind", f"ipc://{folder}/s", "--store", f"{folder}/store",
                                   "--release", "bench", *aggregates, "--exit-after-sessions", "1", "--log-level", "error",
                                   "--ready-fd", str(word)], pass_fds=[word])
    os.close(word)
    if not os.read(ready, 16):
        raise RuntimeError("the aggregator did not start")
    os.close(ready)
    return aggregator


def replay(given, folder):
    """The collector's statistics."""
    stretch = None
    if given.seconds:
        stretch = subprocess.Popen([f"{given.bin}/bench_stretch", given.capture, str(given.seconds)], stdout=subprocess.PIPE)
    source = "-" if stretch else given.capture
    text = subprocess.run([f"{given.bin}/wakepath-collector", "--source", f"capture:{source}", "--connect", f"ipc://{folder}/s",
                           "--stats", "--log-level", "error"], stdin=stretch.stdout if stretch else None, stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    if stretch and stretch.wait():
        raise RuntimeError("the capture could not be stretched")
    return json.loads(text)


def main():
    parser = argparse.ArgumentParser(description="The aggregator's memory along a replay, as JSON.")
    parser.add_argument("bin", help="folder of the built programs")
    parser.add_argument("capture")
    parser.add_argument("--seconds", type=int, help="make the capture that long")
    parser.add_argument("--aggregate", action="append", help="NAME=SELECTOR, may be repeated (default: main=comm=bench_pace)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wakepath-bench-", dir="/var/tmp") as folder:
        aggregator = start_aggregator(given, folder)
        sizes, over, empty = [], threading.Event(), resident_mb(aggregator.pid)

        def look():
            while not over.wait(0.1):
                sizes.append(resident_mb(aggregator.pid))

        thread = threading.Thread(target=look)
        thread.start()
        start = time.monotonic()
        try:
            stats = replay(given, folder)
        finally:
            over.set()
            thread.join()
            if aggregator.poll() is None and "stats" not in locals():
                aggregator.terminate()
        elapsed = time.monotonic() - start
        aggregator.wait()
    sizes = [size for size in sizes if size]
    if len(sizes) < 10:
        raise SystemExit("memory: too short a replay to say anything")
    tenths = [round(max(sizes[len(sizes) * i // 10:len(sizes) * (i + 1) // 10]), 1) for i in range(10)]
    at = {f"at_{percent}_percent": round(sizes[(len(sizes) - 1) * percent // 100], 1) for percent in (10, 50, 100)}
    live = stats["events"] / given.seconds * WINDOW_S if given.seconds else None
    print(json.dumps({"unit": "MB resident", "seconds_recorded": given.seconds, "events": stats["events"],
                      "events_per_s": round(stats["events"] / elapsed), "seconds": round(elapsed, 1), **at, "tenths": tenths,
                      "empty": round(empty, 1), "live_events": live and round(live),
                      "bytes_a_live_event": live and round((max(tenths) - empty) * 1e6 / live, 1),
                      "second_half_to_first": round(max(tenths[5:]) / max(tenths[1:5]), 3)}))


if __name__ == "__main__":
    main()
