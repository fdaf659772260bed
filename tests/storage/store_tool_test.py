#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath-store as a user meets it. store_tool_test.py BIN_DIR"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BIN = sys.argv[1]
WRITER = BIN + "/store_writer"
REPORT = "main/report.100.s.~000000000"


def tool(*words):
    return subprocess.run([BIN + "/wakepath-store", *words], capture_output=True, text=True, timeout=60)


class Tool(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="wp-store-tool-")
        self.root = self.holder.name + "/store"
        for release in ("v1", "v1", "v2"):
            subprocess.run([WRITER, self.root, release], check=True)

    def tearDown(self):
        self.holder.cleanup()

    def says(self, status, *words):
        run = tool(*words)
        self.assertEqual(run.returncode, status, (words, run.stdout, run.stderr))
        return run

    def damage(self, release, number=None):
        """Flips a byte in the zstd frame of this number (all: None) that the file holds."""
        path = f"{self.root}/{release}/data.mdb"
        with open(path, "rb") as file:
            data = bytearray(file.read())
        at, count = 0, 0
        while (at := data.find(bytes.fromhex("28b52ffd"), at)) >= 0:
            if number in (None, count):
                data[at + 12] ^= 0xFF
            at, count = at + 4, count + 1
        with open(path, "wb") as file:
            file.write(data)
        return count

    def overwrite(self, release, size, start=8192):
        """Leaves the meta pages and ruins the tree."""
        with open(f"{self.root}/{release}/data.mdb", "r+b") as file:
            file.seek(start)
            file.write(b"\xff" * size)

    def test_layout(self):
        lines = self.says(0, "ls", "-R", self.root).stdout.splitlines()
        state = [f"__state__/{name}.s" for name in
                 ("clock", "genealogy", "last_sample", "metadata", "shard", "source", "sourcemap")]
        self.assertEqual(lines, ["v1/"] + ["v1/" + key for key in state + [REPORT + "1", REPORT + "2"]] +
                         ["v2/"] + ["v2/" + key for key in state + [REPORT + "1"]])
        self.assertEqual(self.says(0, "ls", self.root).stdout, "v1/\nv2/\n")
        self.assertEqual(self.says(0, "ls", self.root + "/v1").stdout, "v1/__state__/\nv1/main/\n")
        self.assertEqual(self.says(0, "ls", self.root, "v2", "main").stdout, f"v2/{REPORT}1\n")

    def test_one_value_by_any_words(self):
        wanted = self.says(0, "cat", self.root, "v1", REPORT + "1").stdout
        self.assertIn("total_ns: 5\n", wanted)
        self.assertEqual(self.says(0, "cat", self.root, "v1/" + REPORT + "1").stdout, wanted)
        self.assertEqual(self.says(0, "cat", f"{self.root}/v1/{REPORT}1").stdout, wanted)
        self.assertEqual(json.loads(self.says(0, "cat", "--json", self.root, "v1", REPORT + "1").stdout)["kind"], "report")

    def test_numbers(self):
        stat = json.loads(self.says(0, "stat", "--json", self.root).stdout)
        self.assertEqual([row["release"] for row in stat], ["v1", "v2"])
        self.assertEqual(stat[0]["aggregates"][0]["total_ns"], 10)
        self.assertEqual(stat[0]["kinds"]["report"]["keys"], 2)
        self.assertIn("aggregate main: 2 reports", self.says(0, "stat", self.root, "v1").stdout)
        self.assertEqual(len(self.says(0, "releases", self.root).stdout.splitlines()), 2)

    def test_compaction_keeps_the_total(self):
        self.says(0, "compact", self.root)
        self.assertIn("total_ns: 10\n", self.says(0, "cat", self.root, "v1", "main/report.100.s").stdout)
        self.says(0, "verify", self.root)

    def test_whole_store_verifies(self):
        self.assertIn("2 releases, 17 keys", self.says(0, "verify", self.root).stdout)
        result = json.loads(self.says(0, "verify", "--json", self.root).stdout)
        self.assertEqual((result["ok"], result["releases"], result["faults"]), (True, 2, []))

    def test_damaged_values_are_named(self):
        self.assertGreater(self.damage("v1"), 0)
        text = self.says(1, "verify", self.root).stdout
        self.assertIn(f"v1/{REPORT}1: body is damaged", text)
        self.assertIn(f"v1/{REPORT}2: body is damaged", text)
        self.assertNotIn("v2/", text)
        faults = json.loads(self.says(1, "verify", "--json", self.root).stdout)["faults"]
        self.assertEqual({fault["key"] for fault in faults}, {REPORT + "1", REPORT + "2"})
        self.says(0, "verify", self.root, "v2")
        self.assertIn(REPORT + "1", self.says(1, "cat", self.root, "v1", REPORT + "1").stderr)
        self.says(0, "cat", self.root, "v2", REPORT + "1")
        self.says(0, "cat", self.root, "v1", "__state__/shard.s")
        self.says(0, "ls", "-lR", self.root)

    def test_one_damaged_value_costs_itself_only(self):
        count = self.damage("v1", 10**9)
        for number in range(count):
            self.damage("v1", number)
            run = tool("verify", self.root)
            self.assertLessEqual(run.stdout.count("body is damaged"), 1)
            self.damage("v1", number)
        self.says(0, "verify", self.root)

    def test_damaged_structure_is_named(self):
        self.overwrite("v1", 65536)
        run = self.says(1, "verify", self.root)
        self.assertRegex(run.stdout, "(?m)^fault: v1: .*damaged")
        self.assertIn("8 keys", run.stdout)  # of v2
        for words in (("ls", "-R"), ("stat",), ("releases",)):
            run = self.says(1, *words, self.root)
            self.assertIn("damaged", run.stderr)

    def test_a_file_that_is_no_database(self):
        self.overwrite("v1", 65536, 0)
        self.assertIn("fault: v1: ", self.says(1, "verify", self.root).stdout)
        for words in (("ls", "-R"), ("stat",), ("releases",)):  # the other one is shown
            run = self.says(1, *words, self.root)
            self.assertIn("v2", run.stdout)
            self.assertIn("v1", run.stderr)
        self.says(1, "stat", self.root, "v1")

    def test_empty_and_missing(self):
        empty = self.holder.name + "/empty"
        os.mkdir(empty)
        for command in ("ls", "stat", "verify", "releases", "compact"):
            self.says(0, command, empty)
            self.assertIn("/no/such", self.says(1, command, "/no/such").stderr)
        for command in ("stat", "verify", "compact"):
            self.assertIn("v9", self.says(1, command, self.root, "v9").stderr)
        self.assertFalse(os.path.exists(self.root + "/v9"))
        self.assertIn("/etc/passwd", self.says(1, "verify", "/etc/passwd").stderr)
        self.assertIn("main/report.1.s", self.says(1, "cat", self.root, "v1", "main/report.1.s").stderr)
        self.assertIn("not a key", self.says(1, "cat", self.root, "v1", "some").stderr)
        self.says(1, "ls", self.root + "/v1/nothing")
        for words in (("ls", self.root + "/v9"), ("source", "add", self.root + "/v9"), ("stat", self.root, "v9")):
            self.assertIn("has no release 'v9'", self.says(1, *words).stderr)
        self.assertIn("REV:AGGREGATE", self.says(64, "cat", self.root).stderr)

    def test_what_is_no_store(self):
        """A slip of the pen must not be told that all is well."""
        other = self.holder.name + "/other"
        os.mkdir(other)
        with open(other + "/notes", "w", encoding="utf-8"):
            pass
        for command in ("ls", "stat", "verify", "releases", "compact", "prune", "dump"):
            self.assertIn("is not a store", self.says(1, command, other).stderr)
        self.assertIn("is not a store", self.says(1, "merge", other, "--into", self.holder.name + "/new").stderr)
        self.says(1, "merge", other + "/nowhere", "--into", self.holder.name + "/newer")
        self.assertFalse(os.path.exists(self.holder.name + "/newer"))

    def test_usage(self):
        for words in ([], ["frob"], ["--nope"], ["ls"], ["ls", "--nope", self.root], ["verify", "-R", self.root],
                      ["cat"], ["cat", "a", "b", "c", "d"], ["releases", "a", "b"], ["cat", self.root + "/v1"], ["merge", self.root],
                      ["backup", self.root], ["import", self.root], ["metadata", "frob", self.root + "/v1"], ["prune", self.root, "--hours", "x"],
                      ["prune", self.root, "--quota", "much"], ["repair", self.root], ["source", "frob", self.root + "/v1"]):
            run = self.says(64, *words)
            self.assertTrue(run.stderr)
            self.assertFalse(run.stdout)
        self.assertIn("verify", self.says(0, "--help").stdout)
        self.assertIn("--json", self.says(0, "stat", "--help").stdout)
        self.assertRegex(self.says(0, "--version").stdout, r"^wakepath-store \d")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            run = subprocess.run([BIN + "/wakepath-store", "ls", "-R", self.root], stdout=full, stderr=subprocess.PIPE,
                                 text=True, timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertIn("standard output", run.stderr)

    def test_a_store_that_is_being_written(self):
        with subprocess.Popen([WRITER, self.root, "v1", "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
            self.assertEqual(writer.stdout.readline(), b"held\n")
            self.assertNotIn(REPORT + "3", self.says(0, "ls", "-R", self.root).stdout)
            self.says(0, "verify", self.root)
            self.says(0, "stat", self.root)
            writer.stdin.close()
            self.assertEqual(writer.wait(10), 0)
        self.assertIn(REPORT + "3", self.says(0, "ls", "-R", self.root).stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
