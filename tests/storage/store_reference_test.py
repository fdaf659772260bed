#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""References (REV~N, REV:AGGREGATE, REV:AGGREGATE@TIMEBOX) on every command that takes a release: store_reference_test.py BIN."""
import json
import subprocess
import unittest

from store_case import BIN, StoreCase, ago


class ReferenceTest(StoreCase):
    def setUp(self):
        super().setUp()
        for days, release in ((3, "zebra"), (2, "v9"), (1, "v1")):  # by when they began, not by name
            self.make(release, f"time:main:{ago(days)}:{days * 100}", f"time:web:{ago(days)}:7", f"time:web:{ago(days, 1)}:{days}")

    def report(self, *words, status=0):
        run = subprocess.run([BIN + "/wakepath-reporter", *words], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, status, (words, run.stdout, run.stderr))
        return run.stdout if not status else run.stderr

    def test_every_command_of_the_store(self):
        self.assertIn("zebra/main", self.says(0, "ls", "-R", self.root, "v1~2").stdout)
        self.assertEqual(self.json("cat", self.root, "v1~2:main")["head"]["total_ns"], 300)
        self.assertEqual(self.json("cat", self.root, f"v1~2:web@{ago(3, 1)}")["head"]["total_ns"], 3)
        for command in (["stat"], ["verify"], ["compact"], ["prune", "--dry-run"], ["dump"], ["repair", "--dry-run"]):
            said = self.says(0, command[0], self.root, "v1~1", *command[1:])
            self.assertNotIn("zebra", said.stdout, command)
        self.assertEqual([row["release"] for row in self.json("dump", self.root + "/v1~")], ["v9"])
        other = self.holder.name + "/other"
        self.says(0, "backup", self.root + "/v1~2", "--into", self.holder.name + "/copy")
        self.says(0, "merge", self.root + "/v1~2", "--into", other)
        self.says(0, "import", self.root + "/v1~1", "--into", other)
        self.assertEqual([row["release"] for row in self.json("releases", other)], ["v9", "zebra"])
        self.assertEqual([row["release"] for row in self.json("releases", self.holder.name + "/copy")], ["zebra"])

    def test_metadata(self):
        self.says(0, "metadata", "set", self.root + "/v1~2", "owner", "ann")
        self.says(0, "metadata", "set", self.root, "v1~2", "parted by", "blanks")
        self.assertEqual(self.says(0, "metadata", "get", self.root, "v1~2", "parted by").stdout, "blanks\n")
        self.assertEqual(len(self.json("metadata", "ls", self.root, "v1~2")), 2)
        self.says(0, "metadata", "rm", self.root, "v1~2", "parted by")
        self.says(64, "metadata", "ls", self.root, "v1~2", "parted by")
        self.says(0, "metadata", "set", f"{self.root}/v1~1:web@{ago(2)}", "note", "slow disk")
        self.assertEqual(self.says(0, "metadata", "get", self.root + "/zebra", "owner").stdout.strip(), "ann")
        self.assertEqual(self.says(0, "metadata", "get", self.root + "/v9", "note", "--aggregate", "web", "--timebox", str(ago(2))).stdout
                         .strip(), "slow disk")
        self.says(1, "metadata", "get", self.root + "/v1~1:web", "note")
        self.says(64, "metadata", "get", self.root + "/v1~1:web", "note", "--aggregate", "main")

    def test_what_is_not_there(self):
        self.assertIn("there are only 2 releases before 'v1', asked for as 'v1~3'", self.says(1, "stat", self.root, "v1~3").stderr)
        self.assertIn("no release 'v7', asked for as 'v7~1'", self.says(1, "stat", self.root, "v7~1").stderr)
        self.assertIn("a number of releases", self.says(1, "stat", self.root, "v1~x").stderr)

    def of_commit(self, release, days, commit, branch):
        self.make(release, f"active:main:{ago(days)}:1")
        for key, value in (("commit.id", commit), ("commit.branch", branch)):
            self.says(0, "metadata", "set", self.root + "/" + release, key, value)

    def test_commits_and_branches(self):
        """A branch is its newest commit, and a commit what was built of its tree; who changes a release names it."""
        self.of_commit("a", 9, "a1" * 20, "main")
        self.of_commit("b-dirty", 6, "b2" * 20, "main")
        self.of_commit("c", 7, "c3" * 20, "topic")
        self.of_commit("c-dirty", 5, "c3" * 20, "topic")
        self.of_commit("d", 6, "d4" * 20, "topic")
        for name, release in (("main", "b-dirty"), ("topic", "c"), ("c3c3", "c"), ("a1a1", "a")):
            self.assertIn(f"{release}/main", self.says(0, "ls", "-R", self.root, name).stdout)
            before = self.values()
            for words in (["rm"], ["prune"], ["compact"], ["repair", "--drop-damaged"], ["metadata", "set"], ["metadata", "rm"]):
                last = {"metadata set": ["who", "x"], "metadata rm": ["commit.id"]}.get(" ".join(words), [])
                verb, options = (words, []) if words[0] == "metadata" else (words[:1], words[1:])
                self.assertIn(f"has no release '{name}': did you mean '{release}'?", self.says(1, *verb, self.root, name, *last, *options).stderr)
            self.assertIn("did you mean", self.says(1, "prune", self.root, "--keep", name, "--keep-releases", "1").stderr)
            self.assertEqual(self.values(), before)

    def test_reporter(self):
        plain = self.report("--store", self.root, "--release", "zebra", "--aggregate", "web", "--format", "json")
        self.assertEqual(self.report("--store", self.root, "--release", "v1~2:web", "--format", "json"), plain)
        part = json.loads(self.report("--store", self.root, "--release", f"v1~2:web@{ago(3, 1)}", "--format", "json"))
        self.assertEqual((part["release"], part["aggregate"], part["total_ns"]), ("zebra", "web", 3))
        self.report("--store", self.root, "--release", "v1~2:web", "--aggregate", "main", "--format", "json", status=1)
        self.report("--store", self.root, "--release", "v1/..", "--format", "json", status=64)
        rows = json.loads(self.report("query", "--store", self.root, "--release", "v1~1", "--release", "v1~2", "--format", "json"))
        self.assertEqual({row["release"]: row["total_ns"] for row in rows["releases"]}, {"v9": 200, "zebra": 300})
        plain = self.report("check", "v9:main", "zebra:main", "--store", self.root, "--format", "json")
        self.assertEqual(self.report("check", "v1~1:main", f"v1~2:main@{ago(3)}", "--store", self.root, "--format", "json"), plain)

    def test_several_stores_count_together(self):
        other = self.holder.name + "/other"
        self.make("between", f"time:main:{ago(1, 20) - 86400}:5", shard="t", root=other)
        said = json.loads(self.report("--store", self.root, "--store", other, "--release", "v1~1", "--format", "json"))
        self.assertEqual(said["release"], "between")


if __name__ == "__main__":
    unittest.main(argv=["store_reference_test"], verbosity=2)
