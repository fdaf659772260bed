#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""timeline.py BIN_DIR [--threads N] [--slices N] [--picture FILE [--dark]]: the Timeline of a made-up system (timeline_sample, built with
the tests) in Debian's Chromium, from file://. Prints one JSON line: bytes of its data, seconds until it is drawn, and milliseconds a frame
(median, 90th and 99th percentile, most) of all rows and a walk of zooms and moves: by the page's script and with all that the browser does
for it, of a first walk, of a second one, and of one whose frames draw nothing. --picture takes a picture of it."""
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

# One frame: what the reader does, the painting by the script, and all that the browser does until its next task, rasterising among it.
WALK = """(async function () {
  var view = wakepath.running, surface = view.surface, script = [], whole = [], channel = new MessageChannel(), told = null;
  channel.port1.onmessage = function () { told(); };
  async function frame(act) {
    var began = performance.now(), acted, painted;
    surface.pending = true;
    act();
    acted = performance.now() - began;
    await new Promise(window.requestAnimationFrame);
    began = performance.now();
    surface.pending = false;
    surface.paintNow();
    painted = performance.now() - began;
    await new Promise(function (done) { told = done; channel.port2.postMessage(0); });
    script.push(acted + painted);
    whole.push(acted + performance.now() - began);
  }
  function sums(list) {
    var sorted = list.slice().sort(function (a, b) { return a - b; });
    return [0.5, 0.9, 0.99, 1].map(function (part) {
      return Math.round(sorted[Math.min(list.length - 1, Math.floor(list.length * part))] * 10) / 10;
    });
  }
  for (var top = 0; top < view.total; top += surface.height) await frame(function () { surface.stage.scrollTop = top; });
  await frame(function () { surface.stage.scrollTop = 0; });
  for (var zoom = 0; zoom < 60; zoom++) await frame(function () { view.axis.zoom(500 + zoom * 5, 1.25); });
  for (var out = 0; out < 60; out++) await frame(function () { view.axis.zoom(700, 0.8); view.axis.pan(40); });
  return {frames: whole.length, script: sums(script), whole: sums(whole)};
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
        for name in ("first", "second", "empty"):
            if name == "empty":
                browser.evaluate("wakepath.running.surface.acts.draw = function () {}; 1")
            answer = browser.call("Runtime.evaluate", {"expression": WALK, "returnByValue": True, "awaitPromise": True})
            result[name] = answer["result"]["value"]
        print(json.dumps(result))


if __name__ == "__main__":
    main()
