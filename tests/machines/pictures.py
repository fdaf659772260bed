#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pictures.py SITE OUT_DIR: the pictures of docs/reading.md, from the site that operator_test.py made (WAKEPATH_SITE_COPY=SITE)."""
import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reporter"))
from browser import Browser

VIEWS = (("reading-flame", "v2/shop/flame.html", 620), ("reading-waits", "unversioned/clients/waits.html", 620))


def main():
    site, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with Browser() as browser:
        for name, page, height in VIEWS:
            if not os.path.exists(os.path.join(site, page)):
                print("there is no", page, file=sys.stderr)
                continue
            browser.call("Emulation.setDeviceMetricsOverride", {"width": 1180, "height": height, "deviceScaleFactor": 1, "mobile": False})
            browser.open("file://%s/%s" % (site, page))
            browser.evaluate("document.documentElement.style.scrollbarWidth = 'none'")
            browser.screenshot("%s/%s.png" % (out, name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
