#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""site.py BIN_DIR FILL_STORE [--runs N] [--small] [--releases N] [--only P8|P9]: P8, regenerating a site, and P9, drawing a large flame. Prints one JSON line.

P8: nothing changed, one timebox of one release of 1,000 (--releases) changed, all of 100 releases x 24 timeboxes x 4 shards; each with the
seconds of wall and of processor time (median, lowest, highest) and whether a second site of the same store has the same bytes.
P9: a consolidated flame of 100k nodes in Debian's Chromium, from file://: navigation to the first drawing, one frame, one zoom,
and the bytes of the page with its data. FILL_STORE and reporter_sample are built with the tests."""
import argparse
import filecmp
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reporter"))
sys.dont_write_bytecode = True
from browser import Browser  # noqa: E402


def spread(values):
    return {"median": round(statistics.median(values), 4), "lowest": round(min(values), 4), "highest": round(max(values), 4)}


def seconds(runs):
    return {"wall_s": spread([run[0] for run in runs]), "cpu_s": spread([run[1] for run in runs])}


def tree_bytes(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def same(left, right):
    for at, _, names in os.walk(left):
        for name in names:
            one = os.path.join(at, name)
            if name.startswith(".wakepath"):
                continue
            if not filecmp.cmp(one, os.path.join(right, os.path.relpath(one, left)), shallow=False):
                return False
    return True


class Bench:
    def __init__(self, bin_dir, fill, folder):
        self.bin, self.fill_tool, self.folder = bin_dir, fill, folder

    def fill(self, store, *numbers):
        subprocess.run([self.fill_tool, f"{self.folder}/{store}", *map(str, numbers)], check=True)

    def write(self, store, out, *flags):
        """Seconds of wall and of processor time."""
        start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([f"{self.bin}/wakepath-reporter", "--store", f"{self.folder}/{store}", "--out", f"{self.folder}/{out}",
                        "--quiet", *flags], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def regenerate(self, runs, small, many):
        many, releases, boxes = (50, 5, 6) if small else (many, 100, 24)
        self.fill("many", many, 1, 1, 200)
        first = self.write("many", "site-many")
        nothing, one = [], []
        time.sleep(2.5)  # a store that has just been written is read again: see docs/reporter.md
        self.write("many", "site-many")
        for _ in range(runs):
            nothing.append(self.write("many", "site-many"))
            self.fill("many", 0, 1, 1, 200)
            one.append(self.write("many", "site-many"))
            time.sleep(2.5)
            self.write("many", "site-many")
        if many > 1000:  # of another size than all other figures
            return {"releases": many, "first": seconds([first]), "nothing": seconds(nothing), "one_timebox": seconds(one)}
        self.write("many", "again-many")
        self.fill("all", releases, boxes, 4, 200)
        whole = self.write("all", "site-all")
        self.write("all", "again-all")
        return {"releases": many, "first": seconds([first]), "nothing": seconds(nothing), "one_timebox": seconds(one),
                "all": f"{releases} x {boxes} x 4", "all_once": seconds([whole]), "site_bytes": tree_bytes(f"{self.folder}/site-all"),
                "identical": same(f"{self.folder}/site-many", f"{self.folder}/again-many") and
                same(f"{self.folder}/site-all", f"{self.folder}/again-all")}

    def draw(self, runs):
        self.fill("large", 1, 1, 1, 100000)
        self.write("large", "site-large")
        page = f"{self.folder}/site-large/v1.0/main/flame.html"
        first, frame, zoom = [], [], []
        with Browser() as browser:
            browser.open("file://" + page)  # the browser itself starts up
            for _ in range(runs):
                browser.open("file://" + page)
                first.append(browser.evaluate("performance.getEntriesByName('wakepath-ready').length ? performance."
                                              "getEntriesByName('wakepath-ready')[0].startTime : performance.now()"))
                frame.append(browser.evaluate("(function () { var f = window.wakepath.flame, s = f.surface; f.draw("
                                              "s.canvas.getContext('2d'), s.width, s.height, 0); return f.drawMs; })()"))
                zoom.append(browser.evaluate("(function () { var f = window.wakepath.flame, s = f.surface, t = performance.now();"
                                             "f.zoomTo(1); f.draw(s.canvas.getContext('2d'), s.width, s.height, 0);"
                                             "t = performance.now() - t; f.zoomTo(0); return t; })()"))
            nodes = browser.evaluate("window.wakepath.flame.model.count")
        data = os.path.join(os.path.dirname(page), "flame-data.js")
        return {"nodes": nodes, "first_draw_ms": spread(first), "frame_ms": spread(frame), "zoom_ms": spread(zoom),
                "page_bytes": os.path.getsize(page) + os.path.getsize(data)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir")
    parser.add_argument("fill_store")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="a twentieth of it, to see that it works")
    parser.add_argument("--releases", type=int, default=1000, help="of P8; more than 1,000: nothing but the first run, no change and one change")
    parser.add_argument("--only", choices=("P8", "P9"), help="one of the two")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wp-bench-site-") as folder:
        bench = Bench(options.bin_dir, options.fill_store, folder)
        found = {"load": os.getloadavg()[0]}
        if options.only != "P9":
            found["P8"] = bench.regenerate(options.runs, options.small, options.releases)
        if options.only != "P8":
            found["P9"] = bench.draw(options.runs)
        print(json.dumps(found))


if __name__ == "__main__":
    main()
