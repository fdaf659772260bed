#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""timeline.py BIN_DIR [--threads N] [--slices N] [--picture FILE [--dark]]: the Timeline of a made-up system (timeline_sample, built with
the tests) in Debian's Chromium, from file://. Prints one JSON line: bytes of its data, seconds until it is drawn, and milliseconds a frame
of all rows and of a walk of zooms and moves (median, 99th percentile, most). --picture takes a picture of it."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reporter"))
sys.dont_write_bytecode = True
from browser import Browser  # noqa: E402

WALK = """(function () {
  var view = wakepath.running, frames = [], height = view.surface.height;
  function paint() { view.surface.paintNow(); frames.push(view.frameMs); }
  for (var top = 0; top < view.total; top += height) { view.surface.stage.scrollTop = top; paint(); }
  view.surface.stage.scrollTop = 0;
  for (var zoom = 0; zoom < 60; zoom++) { view.axis.zoom(500 + zoom * 5, 1.25); paint(); }
  for (var out = 0; out < 60; out++) { view.axis.zoom(700, 0.8); view.axis.pan(40); paint(); }
  frames.sort(function (a, b) { return a - b; });
  return {frames: frames.length, median: frames[frames.length >> 1], p99: frames[Math.floor(frames.length * 0.99)], most: frames[frames.length - 1]};
})()"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin_dir")
    parser.add_argument("--threads", type=int, default=2000)
    parser.add_argument("--slices", type=int, default=1000000)
    parser.add_argument("--picture")
    parser.add_argument("--dark", action="store_true")
    options = parser.parse_args()
    tools = os.path.abspath(options.bin_dir)
    with tempfile.TemporaryDirectory(prefix="wp-timeline-") as folder, Browser(1180, 900) as browser:
        subprocess.run([f"{tools}/reporter_sample", "plain", f"{folder}/store"], check=True)
        subprocess.run([f"{tools}/timeline_sample", f"{folder}/system", str(options.threads), str(options.slices)], check=True)
        subprocess.run([f"{tools}/wakepath-reporter", "--store", f"{folder}/store", "--out", f"{folder}/site", "--quiet", "--system-window",
                        f"{folder}/system"], check=True)
        browser.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if options.dark else "light"}]})
        began = time.monotonic()
        browser.open(f"file://{folder}/site/v1/main/running.html")
        drawn_s = time.monotonic() - began
        result = {"threads": options.threads, "slices": options.slices, "bytes": os.path.getsize(f"{folder}/site/v1/system-data.js"),
                  "drawn_s": round(drawn_s, 2), "faults": browser.faults()}
        if options.picture:
            browser.screenshot(options.picture)
        result["frame_ms"] = browser.evaluate(WALK)
        print(json.dumps(result))


if __name__ == "__main__":
    main()
