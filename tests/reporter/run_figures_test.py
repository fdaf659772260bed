#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --metrics-file has after a run that went well, one that did not, and behind files that hold anything.
run_figures_test.py BIN_DIR SAMPLE_TOOL"""
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

BIN, SAMPLE = sys.argv[1], sys.argv[2]
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "run_figures.prom")
PREFIX = "wakepath_reporter_"
SUCCESS = "last_success_timestamp_seconds"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class RunFigures(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="wp-figures-")
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        self.store, self.out, self.file = (self.path(name) for name in ("store", "site", "reporter.prom"))
        subprocess.run([SAMPLE, "plain", self.store, "v1"], check=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, text, mode="w"):
        with open(self.file, mode) as file:
            file.write(text)

    def report(self, want, *more, store=None, metrics=None, out=None):
        run = subprocess.run([f"{BIN}/wakepath-reporter", "--no-config", "--quiet", "--store", store or self.store, "--out", out or self.out,
                              "--metrics-file", metrics or self.file, *more], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, want, run.stderr)
        return run.stderr

    def fail(self, **more):
        self.report(1, store=self.path("none"), **more)

    def figures(self):
        rows = re.findall(r"^" + PREFIX + r'(\w+)\{site="([^"]*)"(?:,state="(\w+)")?\} (\S+)$', read(self.file), re.M)
        self.assertTrue(rows)
        return {name + state: float(value) for name, _, state, value in rows}

    def test_good_run(self):
        before = int(time.time())
        self.report(0)
        text = read(self.file).replace(self.folder, "DIR")
        for name in (SUCCESS, "last_run_timestamp_seconds"):
            self.assertTrue(before <= self.figures()[name] <= time.time())
        for name, value in (("timestamp", "TIME"), ("duration", "TOOK")):
            text = re.sub(rf"^(\w+{name}_seconds\S+) [0-9.]+$", rf"\1 {value}", text, flags=re.M)
        text = re.sub(r'(state="written"}) [1-9][0-9]*$', r"\1 SOME", text, flags=re.M)
        self.assertEqual(text, read(GOLDEN))
        self.report(0)
        self.assertEqual(self.figures()["fileswritten"], 0)
        self.assertGreater(self.figures()["filesunchanged"], 10)
        self.assertEqual(sorted(os.listdir(self.folder)), ["reporter.prom", "site", "store"])

    def test_failed_run_keeps_the_last_success(self):
        self.report(0)
        text = re.sub(SUCCESS + r"(\{.*\}) [0-9]+", SUCCESS + r"\1 1790000000", read(self.file))
        self.put(text)
        for _ in range(2):
            self.fail()
            figures = self.figures()
            self.assertEqual((figures[SUCCESS], figures["last_run_exit_status"], figures["releases"], figures["fileswritten"]),
                             (1790000000, 1, 0, 0))
            self.assertGreater(figures["last_run_timestamp_seconds"], 1790000000)
        self.report(0)
        self.assertGreater(self.figures()[SUCCESS], 1790000000)

    def test_failures_before_the_site_is_begun(self):
        self.report(1, "--release", "v9")
        self.assertEqual((self.figures()["last_run_exit_status"], self.figures()[SUCCESS]), (1, 0))
        self.report(1, "--release", "v9~3")
        self.assertEqual(self.figures()["last_run_exit_status"], 1)

    def test_a_release_that_cannot_be_read(self):
        """The site is as new as it can be, and the run is no success: two figures, for two alerts."""
        subprocess.run([SAMPLE, "plain", self.store, "v2"], check=True)
        with open(self.store + "/v1/data.mdb", "wb") as file:
            file.write(b"no database" * 1000)
        self.report(1)
        figures = self.figures()
        self.assertEqual((figures["unread_releases"], figures["last_run_exit_status"]), (1, 1))
        self.assertEqual(figures[SUCCESS], figures["last_run_timestamp_seconds"])

    def test_garbage_before(self):
        line = f'\n{PREFIX}{SUCCESS}{{site="{self.out}"}} '
        for text in ("", "\0" * 100, "x" * 20000, line + "1790000000", line + "1" * 400 + "\n", line + "-5\n", line + "nan\n",
                     line + "1e9\n", line + "999999999999\n", line + "\n", line[:-3], line.replace("site", "sine") + "1790000000\n",
                     "#" * 16384 + line + "1790000000\n", line.replace("\n", "# ") + "1790000000\n"):
            self.put(text)
            self.fail()
            self.assertEqual(self.figures()[SUCCESS], 0, text[:200])
        self.put(bytes(range(256)) * 8, "wb")
        self.fail()
        self.assertEqual(self.figures()[SUCCESS], 0)
        self.put("torn" + line + "1790000000\n")
        self.fail()
        self.assertEqual(self.figures()[SUCCESS], 1790000000)

    def test_what_is_no_file_is_not_read(self):
        """A pipe is not waited for, and what a link names is neither read nor written."""
        os.mkfifo(self.file)
        self.fail()
        self.assertEqual(self.figures()[SUCCESS], 0)
        os.rename(self.file, self.path("other.prom"))
        self.put(f'\n{PREFIX}{SUCCESS}{{site="{self.out}"}} 1790000000\n')
        os.rename(self.file, self.path("target"))
        os.symlink("target", self.file)
        self.fail()
        self.assertEqual(self.figures()[SUCCESS], 0)
        self.assertIn("1790000000", read(self.path("target")))

    def test_another_site_is_another_one(self):
        self.report(0)
        self.fail(out=self.path("second"))
        self.assertEqual(self.figures()[SUCCESS], 0)

    def test_a_file_that_cannot_be_written(self):
        said = self.report(1, metrics=self.path("none/reporter.prom"))
        self.assertIn("none/reporter.prom", said)
        self.assertTrue(os.path.exists(self.out + "/index.html"))
        said = self.report(1, metrics=self.path("none/reporter.prom"), store=self.path("nothing"))
        self.assertIn("none/reporter.prom", said)
        self.assertIn("nothing", said.splitlines()[-1])

    def test_usage(self):
        for name in ("reporter.txt", ".prom", "prom"):
            said = self.report(64, metrics=name)
            self.assertIn("does not end in .prom", said)
        self.report(0, "--format", "json", out=self.path("v1.json"))  # a report that is printed is no run of the site
        self.assertFalse(os.path.exists(self.file))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
