#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""screenshots.py BIN_DIR OUT_DIR: records deploy/demo on this machine (as root) and takes the pictures of the main views that
README.md and docs/ show. Small windows, so that each file stays below 300 kB; ends with 1 when one does not or a page has a fault."""
import os
import subprocess
import sys
import tempfile

from browser import Browser

SIZE_LIMIT = 300000
# Name, page of the aggregate, width, height, dark, what to do before the picture.
VIEWS = (("overview", "index.html", 1180, 760, False, None),
         ("flame", "flame.html", 1180, 700, False, None),
         ("running", "running.html", 1180, 700, True, None),
         ("running-light", "running.html", 1180, 700, False, None),
         ("waits", "waits.html", 1180, 640, False, None),
         ("behind", "behind.html#process=%5Bdemo-filter%5D", 1180, 900, False, None),
         ("exemplar", "exemplar-1.html", 1180, 700, False, "wakepath.chronology.surface.stage.scrollTop = 0"),
         ("functions", "functions-1.html", 1180, 760, False,
          "Array.from(document.querySelectorAll('h2')).find(h => h.textContent === 'main').scrollIntoView()"),
         ("phone", "index.html", 400, 800, True, None))


def main():
    bin_dir, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(out, exist_ok=True)
    faults = []
    with tempfile.TemporaryDirectory(prefix="wp-screenshots-") as folder, Browser() as browser:
        site = folder + "/report"
        subprocess.run([f"{bin_dir}/wakepath", "record", "--quiet", "--out", site, "--", f"{bin_dir}/wakepath-demo"], check=True,
                       stdout=subprocess.DEVNULL)
        release = next(name for name in sorted(os.listdir(site)) if os.path.isdir(f"{site}/{name}/main"))
        for name, page, width, height, dark, action in VIEWS:
            browser.call("Emulation.setDeviceMetricsOverride",
                         {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
            browser.call("Emulation.setEmulatedMedia",
                         {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
            if not browser.open(f"file://{site}/{release}/main/{page}"):
                faults.append(f"{page} never said that it is drawn")
            if action:
                browser.evaluate(action + "; 1")
            browser.evaluate("document.documentElement.style.scrollbarWidth = 'none'")
            browser.wait("document.readyState === 'complete'")
            browser.screenshot(f"{out}/{name}.png")
            faults += browser.faults()
            if os.path.getsize(f"{out}/{name}.png") > SIZE_LIMIT:
                faults.append(f"{name}.png has {os.path.getsize(f'{out}/{name}.png')} bytes")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
