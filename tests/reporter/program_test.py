#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath-reporter as scripts use it. program_test.py BIN_DIR SAMPLE_TOOL"""
import fcntl
import filecmp
import json
import os
import subprocess
import sys
import tempfile
import unittest

BIN, SAMPLE = sys.argv[1], sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
CATEGORIES = """understood_functions blocking_io running_not_sampled message_in_flight io_queue scheduler remote_not_traced
deliberate_sleep hardware_wait involuntary kernel_block timeout other_path unaccounted""".split()


def reporter(*args):
    return subprocess.run([f"{BIN}/wakepath-reporter", *args], capture_output=True, text=True, timeout=120)


def same_tree(left, right):
    compared = filecmp.dircmp(left, right, ignore=[])
    if compared.left_only or compared.right_only or compared.funny_files:
        return False
    _, mismatch, errors = filecmp.cmpfiles(left, right, compared.common_files, shallow=False)
    return not mismatch and not errors and all(same_tree(f"{left}/{d}", f"{right}/{d}") for d in compared.common_dirs)


class Program(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="wp-reporter-")
        self.folder = self.holder.name
        self.store = self.folder + "/store"
        self.put("plain", "v1")

    def tearDown(self):
        self.holder.cleanup()

    def put(self, kind, *names):
        subprocess.run([SAMPLE, kind, self.store, *names], check=True)

    def test_usage(self):
        for args in (["--no-such-flag"], [], ["--store", self.store], ["--store", self.store, "--format", "pdf"],
                     ["--store", self.store, "--format", "json", "--out", "x"], ["--store", self.store, "--format", "json", "x"],
                     ["--store", self.store, "--format", "json", "--release", "../x"],
                     ["--store", self.store, "--format", "json", "--since", "yesterday"]):
            run = reporter(*args)
            self.assertEqual(run.returncode, 64, (args, run.stderr))
            self.assertTrue(run.stderr)
        self.assertEqual(reporter("--version").returncode, 0)
        self.assertIn("--store", reporter("--help").stdout)

    def test_failures_are_one_line_that_names_the_thing(self):
        for args, name in ((["--store", "/no/such/store"], "/no/such/store"), (["--store", self.store, "--release", "v9"], "v9"),
                           (["--store", self.store, "--aggregate", "nobody"], "nobody")):
            run = reporter(*args, "--format", "json")
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn(name, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
            self.assertEqual(run.stdout, "")
        out = self.folder + "/none"
        self.assertEqual(reporter("--store", self.store, "--release", "v9", "--out", out).returncode, 1)
        self.assertFalse(os.path.exists(out))

    def test_summary_is_the_contract(self):
        run = reporter("--store", self.store, "--release", "v1", "--aggregate", "main", "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        summary = json.loads(run.stdout)
        self.assertEqual((summary["schema"], summary["release"], summary["aggregate"], summary["hosts"]), (1, "v1", "main", 1))
        self.assertEqual(list(summary["categories"]), CATEGORIES)
        self.assertEqual(sum(summary["categories"].values()), summary["total_ns"])
        self.assertAlmostEqual(summary["accounted_percent"],
                               100 * (1 - summary["categories"]["unaccounted"] / summary["total_ns"]), places=4)
        self.assertEqual(set(summary["processes"][0]), {"host", "comm", "pid", "total_ns", "running_ns"})
        self.assertEqual(summary["events"]["total"], 48210 + 24007 + 2714)
        self.assertEqual(summary["events"]["dropped"], 12)
        self.assertEqual(len(summary["explanations"]), 5)
        self.assertEqual(summary["coverage"], 1.0)

    def test_folded_sums_to_the_total(self):
        run = reporter("--store", self.store, "--format", "folded")
        total = json.loads(reporter("--store", self.store, "--format", "json").stdout)["total_ns"]
        lines = run.stdout.splitlines()
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in lines), total)
        self.assertTrue(all(line.startswith("[") for line in lines))

    def test_text_is_for_people(self):
        run = reporter("--store", self.store, "--format", "text")
        self.assertIn("make spends 73 % of its time", run.stdout)
        self.assertTrue(all(len(line) <= 100 for line in run.stdout.splitlines()))

    def test_site_is_byte_identical_and_checked(self):
        self.put("hostile", "v1", "hostile")
        self.put("hostile", "index.html", "assets")
        self.put("plain", "v2", "other")
        one, two = self.folder + "/one", self.folder + "/two"
        for out in (one, two, two):
            self.assertEqual(reporter("--store", self.store, "--out", out, "--quiet").returncode, 0)
        self.assertTrue(same_tree(one, two))
        check = subprocess.run([sys.executable, HERE + "/site_check.py", one], capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout)

    def test_unchanged_site_is_not_touched(self):
        out = self.folder + "/site"
        reporter("--store", self.store, "--out", out, "--quiet")
        before = os.stat(out).st_ino, os.stat(out + "/index.html").st_mtime_ns
        run = reporter("--store", self.store, "--out", out)
        self.assertIn("changed=0", run.stderr)
        self.assertEqual(before, (os.stat(out).st_ino, os.stat(out + "/index.html").st_mtime_ns))

    def test_summary_file_prefers_main(self):
        self.put("hostile", "v1", "zzz")
        out = self.folder + "/site"
        self.assertEqual(reporter("--store", self.store, "--release", "v1", "--out", out, "--quiet").returncode, 0)
        with open(out + "/summary.json", encoding="utf-8") as file:
            self.assertEqual(json.load(file)["aggregate"], "main")
        self.put("plain", "v2")
        self.assertEqual(reporter("--store", self.store, "--out", out, "--quiet").returncode, 0)
        self.assertFalse(os.path.exists(out + "/summary.json"))  # two releases: none speaks for all

    def test_store_inside_the_site_stays(self):
        out = self.folder + "/site"
        os.makedirs(out)
        store = out + "/store"
        subprocess.run([SAMPLE, "plain", store], check=True)
        for _ in range(2):
            run = reporter("--store", store, "--out", out, "--quiet")
            self.assertEqual(run.returncode, 0, run.stderr)
            subprocess.run([SAMPLE, "plain", store, "v2"], check=True)
        self.assertTrue(os.path.exists(out + "/index.html"))

    def test_second_writer_leaves_when_told_so(self):
        with open(f"{self.folder}/.site.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            run = reporter("--store", self.store, "--out", self.folder + "/site", "--no-wait")
            self.assertEqual(run.returncode, 1)
            self.assertIn("another reporter", run.stderr)

    def test_damage_is_marked_not_fatal(self):
        self.put("plain", "v1", "second")
        path = self.store + "/v1/data.mdb"
        with open(path, "rb") as file:
            data = bytearray(file.read())
        magic, at, count = bytes.fromhex("28b52ffd"), 0, 0
        while (at := data.find(magic, at)) >= 0:
            data[at + 12] ^= 0xFF
            at, count = at + 4, count + 1
        self.assertGreater(count, 0)
        with open(path, "wb") as file:
            file.write(data)
        out = self.folder + "/site"
        run = reporter("--store", self.store, "--out", out)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("damaged=", run.stderr)
        with open(out + "/v1/main/index.html", encoding="utf-8") as file:
            self.assertIn("Damaged and left out", file.read())

    def test_a_damaged_release_leaves_the_others(self):
        self.put("plain", "v2")
        with open(self.store + "/v1/data.mdb", "wb") as file:
            file.write(b"no database" * 1000)
        out = self.folder + "/site"
        run = reporter("--store", self.store, "--out", out)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("damaged=1", run.stderr)
        for page in ("/index.html", "/v1/index.html"):
            with open(out + page, encoding="utf-8") as file:
                self.assertIn("Release v1 cannot be read", file.read())
        self.assertTrue(os.path.exists(out + "/v2/main/index.html"))
        self.assertEqual(reporter("--store", self.store, "--release", "v1", "--out", out).returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
