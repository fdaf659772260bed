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

BIN, SAMPLE = sys.argv.pop(1), sys.argv.pop(1)
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "pages")
# Which page of which site is held against its golden file: each kind of page once, where it has most to say.
PAGES = {"plain": ("v1/index", "v1/main/index", "v1/main/flame", "v1/main/chronology", "v1/main/running", "v1/main/exemplars", "v1/main/exemplar-1",
                   "v1/main/exemplar-rows-2", "v1/main/waits", "v1/main/processes",
                   "v1/main/functions-2", "v1/main/io", "v1/main/unexplained", "v1/main/about"),
         "service": ("index", "v1/main/functions", "v1/main/requests", "v2/main/compare"), "fleet": ("v1/main/hosts",),
         "source": ("v1/main/functions", "v1/main/functions-1", "v1/main/sources", "v1/main/source-1", "v1/main/source-3", "v1/main/source-4")}
# What tidy, made for an older HTML, does not know: attributes of SVG and of accessibility, groups in lists of definitions.
UNKNOWN = re.compile(r"proprietary attribute|inserting implicit <dl>|missing </div> before <dt>|missing </dl> before </div>|missing <dd>"
                     r"|trimming empty <(bdi|small|span|p)>|not approved by W3C|not recognized|discarding unexpected </?(svg|g|path|rect|line|text)")


# The text of the till (sample_source.c): a statement of two lines, and lines that are a grammar's or numbered anew.
TILL = """/* The till. */
#include "money.h"

struct line { long price; int count; };

static long settle(const struct line *lines, int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        const struct line *line = &lines[i];

        sum += cents(line->price,
            line->count);
    }
    return sum < 0 ? 0 : sum;
}

static void book(int fd, long sum)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "%ld <b>&amp;</b>\\n", sum);
    if (write(fd, text, size) == size)
        fsync(fd);
}

#line 30 "order.y"
static int parse(const char *at)
    { while (*at) at++; return 0; }
#line 45 "till.c"
int main(void)
{
    long sum = settle(lines, 3);
    parse(text);
    book(fd, sum);
}
"""
MONEY = "/* Money. */\n\n\n/* Rounds. */\nstatic inline long cents(long price, int count)\n{\n    return price * count / 100;\n}\n"


def write_source(folder):
    os.makedirs(f"{folder}/code/src")
    for name, text in (("till.c", TILL), ("money.h", MONEY)):
        with open(f"{folder}/code/src/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        os.utime(file.name, (1780000000, 1780000000))


def write_sites(folder):
    write_source(folder)
    for kind, releases in (("plain", ("v1",)), ("source", ("v1",)), ("fleet", ("v1",)), ("service", ("v1", "v2")), ("hostile", ("v1",))):
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
        for kind in ("plain", "service", "fleet", "hostile"):
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
