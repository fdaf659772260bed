#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of the manuals: blocks marked ```sh run are executed, one shell a page, in an empty folder; all options of our
programs in any ```sh block are real ones. Usage: docs_test.py BIN GENERATED SOURCE [PAGE...]"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN, MADE, SOURCE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
PAGES = sorted(glob.glob(os.path.join(SOURCE, "docs/*.md")) + [os.path.join(SOURCE, "README.md")])
PROGRAM = re.compile(r"wakepath(-[a-z]+)?$")


def blocks(page):
    """(info string, text) of each fenced block."""
    with open(page, encoding="utf-8") as file:
        return re.findall(r"^```(sh[^\n]*)\n(.*?)^```$", file.read(), re.M | re.S)


def table():
    """Path of commands -> its options."""
    found = {}
    with open(os.path.join(MADE, "options/all.tsv"), encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            found.setdefault(fields[0], set())
            if fields[1] == "o":
                found[fields[0]].update(("--" + fields[3], "-" + fields[2]))
    return found


def unknown_options(line, known):
    """Words with a dash that the program they are given to does not have."""
    path, is_first = None, True
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return
    for word in words:
        if word in ("--", "|", "&&", "||", ";", "&"):
            path, is_first = None, word != "--"
        elif is_first:
            path = word if PROGRAM.match(word) and word in known else None
            is_first = "=" in word
        elif path is None:
            continue
        elif word.startswith("-") and word != "-":
            if word.split("=")[0] not in known[path]:
                yield f"{path} {word}"
        elif f"{path} {word}" in known:
            path = f"{path} {word}"


class DocsTest(unittest.TestCase):
    def test_options_exist(self):
        known, seen = table(), 0
        for page in PAGES:
            for _, text in blocks(page):
                for line in text.splitlines():
                    seen += "wakepath" in line
                    self.assertEqual(list(unknown_options(line, known)), [], f"{page}: {line}")
        self.assertGreater(seen, 20)

    def test_an_unknown_option_is_found(self):
        self.assertEqual(list(unknown_options("x=1 wakepath store ls --recursve a | wc -l", table())),
                         ["wakepath store ls --recursve"])

    def test_blocks_run(self):
        executed = 0
        for page in PAGES:
            text = "".join(text for info, text in blocks(page) if info.split()[1:] == ["run"])
            if not text:
                continue
            executed += 1
            folder = tempfile.mkdtemp(prefix="wakepath-docs-", dir="/var/tmp")
            self.addCleanup(shutil.rmtree, folder, True)
            done = subprocess.run(["sh", "-euxc", text], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env={"PATH": BIN + ":" + os.environ["PATH"], "HOME": folder, "LC_ALL": "C"}, timeout=200,
                                  check=False)
            self.assertEqual(done.returncode, 0, f"{page}:\n{done.stdout}\n{done.stderr}")
        self.assertEqual(executed, 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
