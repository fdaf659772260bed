#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each page as it was looked at and found right, and as valid HTML. page_test.py BIN_DIR SAMPLE_TOOL; WP_UPDATE_GOLDEN=1 writes
the golden files anew: look at them (and at the pages) before they are committed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import colours
from till import write_source

BIN, SAMPLE = sys.argv.pop(1), sys.argv.pop(1)
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "pages")
# Which page of which site is held against its golden file: each kind of page once, where it has most to say.
PAGES = {"plain": ("v1/index", "v1/main/index", "v1/main/flame", "v1/main/chronology", "v1/main/running", "v1/main/exemplars", "v1/main/exemplar-1",
                   "v1/main/exemplar-rows-2", "v1/main/waits", "v1/main/processes",
                   "v1/main/functions-2", "v1/main/modules", "v1/main/io", "v1/main/unexplained", "v1/main/about"),
         "service": ("index", "v1/main/functions", "v1/main/requests", "v2/main/compare"), "fleet": ("v1/main/hosts",), "shards": ("v1/main/behind",),
         "source": ("v1/main/functions", "v1/main/functions-1", "v1/main/sources", "v1/main/source-1", "v1/main/source-3", "v1/main/source-4")}
# What tidy, made for an older HTML, does not know: attributes of SVG and of accessibility, groups in lists of definitions.
UNKNOWN = re.compile(r"proprietary attribute|inserting implicit <dl>|missing </div> before <dt>|missing </dl> before </div>|missing <dd>"
                     r"|trimming empty <(bdi|small|span|p)>|not approved by W3C|not recognized|discarding unexpected </?(svg|g|path|rect|line|text)")


def write_sites(folder):
    write_source(folder)
    for kind, releases in (("plain", ("v1",)), ("source", ("v1",)), ("fleet", ("v1",)), ("shards", ("v1",)), ("service", ("v1", "v2")), ("hostile", ("v1",))):
        for release in releases:
            name = "service-slower" if (kind, release) == ("service", "v2") else kind
            subprocess.run([SAMPLE, name, f"{folder}/store-{kind}", release], check=True)
        subprocess.run([f"{BIN}/wakepath-reporter", "--store", f"{folder}/store-{kind}", "--out", f"{folder}/{kind}", "--quiet",
                        "--source-map", "/build/shop=code", "--no-source-disk"], check=True, cwd=folder)


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="wp-pages-")
        write_sites(cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_golden_pages(self):
        os.makedirs(GOLDEN, exist_ok=True)
        wanted = set()
        for kind, pages in PAGES.items():
            for page in pages:
                with open(f"{self.folder}/{kind}/{page}.html", encoding="utf-8") as file:
                    made = file.read()
                name = kind + "-" + page.replace("v1/main/", "").replace("v2/main/", "").replace("v1/", "release-") + ".html"
                wanted.add(name)
                if os.environ.get("WP_UPDATE_GOLDEN"):
                    with open(f"{GOLDEN}/{name}", "w", encoding="utf-8") as file:
                        file.write(made)
                with open(f"{GOLDEN}/{name}", encoding="utf-8") as file:
                    for at, (line, right) in enumerate(zip(made.splitlines() + [None], file.read().splitlines() + [None]), 1):
                        self.assertEqual(line, right, f"{name}, line {at}")
        self.assertEqual(set(os.listdir(GOLDEN)), wanted)

    def test_pages_are_valid(self):
        self.assertTrue(shutil.which("tidy"), "tidy is not installed: see deploy/packages.txt")
        count = 0
        for kind in ("plain", "service", "fleet", "shards", "hostile"):
            for at, _, names in os.walk(f"{self.folder}/{kind}"):
                for name in names:
                    if not name.endswith(".html"):
                        continue
                    count += 1
                    done = subprocess.run(["tidy", "-quiet", "-errors", "-utf8", "--show-warnings", "yes", f"{at}/{name}"], capture_output=True,
                                          text=True, errors="replace", check=False)
                    said = [line for line in done.stderr.splitlines() if re.search(r" - (Error|Warning): ", line)]
                    self.assertEqual([line for line in said if not UNKNOWN.search(line)], [], f"{kind} {name}")
        self.assertGreater(count, 60)


class Colours(unittest.TestCase):
    """Nobody tells red from green by name: frames beside each other are ten apart to every reader, where 2.3 can just be seen."""
    FRAMES = ("f-run", "f-sleep", "f-both", "f-run-script", "f-sleep-script", "f-both-script", "f-process", "f-io", "f-net", "f-sched", "f-wait")
    CHANGES = ("f-worse", "f-better", "f-same")

    def test_frames_are_told_apart_by_every_eye(self):
        style = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "reporter", "assets", "wakepath.css")
        with open(style, encoding="utf-8") as file:
            themes = colours.themes(file.read())
        self.assertEqual(len(themes), 3)
        for theme in themes:
            for eye in colours.EYES:
                for names in (self.FRAMES, self.CHANGES):
                    nearest = colours.nearest({name: theme[name] for name in names}, eye)
                    self.assertGreater(nearest[0], 10, (eye, nearest))


if __name__ == "__main__":
    unittest.main(verbosity=2)
