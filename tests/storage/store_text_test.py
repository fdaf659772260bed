#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath-store dump, load, backup, repair, metadata, references. store_text_test.py BIN_DIR"""
import os
import random
import shutil
import subprocess
import sys
import unittest

from store_case import BIN, IS_LONG, StoreCase, ago


def pages(root, release):
    """Keys and stored bytes as LMDB's own tool gives them."""
    text = subprocess.run(["mdb_dump", f"{root}/{release}"], check=True, capture_output=True, text=True, timeout=60).stdout
    return text[text.index("HEADER=END"):]


class Text(StoreCase):
    def full(self, release="v1", seed=1, root=None):
        """A value of every kind."""
        self.make(release, f"report:main:{ago(1)}:{seed}", f"report:main:{ago(1)}:{seed + 1}", f"report:web:{ago(0)}:{seed}",
                  f"trace:main:{ago(1)}:{seed}", f"session:{seed}:2:3", f"map:{seed}", f"clock:{seed}", "metadata::a:b:3",
                  "metadata:main:a:x\"y\\z:3", f"process:h:{seed}:2:3:4", f"source:h:1:2:{seed}:1000", root=root)

    # --- dump and load ---

    def test_no_control_reaches_a_terminal(self):
        """Not from JSON either, which need not escape DEL and the second half of the control range."""
        self.make("v1", "time:main:1763683200:5")
        hostile = "a\x7fb\u009b31mc\u0085d"
        self.says(0, "metadata", "set", self.root + "/v1", hostile, hostile)
        for words in (("metadata", "ls", self.root + "/v1"), ("metadata", "ls", "--json", self.root + "/v1"), ("dump", self.root), ("dump", "--json", self.root)):
            said = self.says(0, *words).stdout
            self.assertFalse([c for c in said if 0x7f <= ord(c) < 0xa0 or ord(c) < 0x20 and c != "\n"], words)
        self.assertEqual([row["key"] for row in self.json("metadata", "ls", self.root + "/v1")], [hostile])

    def test_what_is_loaded_is_what_was_dumped(self):
        for seed in range(8 if IS_LONG else 2):
            root = f"{self.holder.name}/r{seed}"
            self.full("v1", seed, root)
            self.full("v2", seed + 50, root)
            if seed % 2:
                self.says(0, "compact", root)
            text = self.says(0, "dump", root).stdout
            self.assertNotIn("stored {", text)
            self.assertTrue(text.isascii())
            self.says(0, "load", root + "-again", stdin=text)
            self.assertEqual(self.says(0, "dump", root + "-again").stdout, text)
            for release in ("v1", "v2"):
                self.assertEqual(pages(root, release), pages(root + "-again", release))
            self.says(0, "verify", root + "-again")

    def test_damaged_and_foreign_bytes_go_round(self):
        self.full()
        self.damage_one(self.root, "v1")
        text = subprocess.run(["mdb_dump", self.root + "/v1"], check=True, capture_output=True, text=True, timeout=60).stdout
        rows = text.splitlines()
        at = rows.index("HEADER=END")
        odd = [" 5f6f6464ff", " 0001ff"]  # a key that is none of ours, with bytes that mean nothing
        os.makedirs(self.root + "/odd")
        subprocess.run(["mdb_load", self.root + "/odd"], input="\n".join(rows[:at + 1] + rows[at + 1:-1] + odd + rows[-1:]) + "\n",
                       check=True, text=True, timeout=60)
        dump = self.says(0, "dump", self.root, "odd").stdout
        self.assertEqual(dump.count("stored {"), 2)
        self.says(0, "load", self.root + "-again", stdin=dump)
        self.assertEqual(pages(self.root, "odd"), pages(self.root + "-again", "odd"))

    def test_a_change_is_a_line_of_the_difference(self):
        self.make("v1", "time:main:100:5", "session:1:7:3")
        before = self.says(0, "dump", self.root).stdout.splitlines()
        self.make("v1", "session:1:8:3")
        after = self.says(0, "dump", self.root).stdout.splitlines()
        self.assertEqual(len(before), len(after))
        self.assertEqual([pair for pair in zip(before, after) if pair[0] != pair[1]], [("  seq 7", "  seq 8")])

    def test_nothing_is_written_over(self):
        self.full()
        text = self.says(0, "dump", self.root).stdout
        self.assertIn("written over", self.says(1, "load", self.root, stdin=text).stderr)
        self.assertEqual(self.says(0, "dump", self.root).stdout, text)

    def test_a_dump_of_nothing_prints_nothing(self):
        self.full()
        for form in ((), ("--json",)):
            self.assertEqual(self.says(1, "dump", self.root, "nosuch", *form).stdout, "")

    def test_what_is_no_dump(self):
        self.full()
        text = self.says(0, "dump", self.root).stdout
        lines = text.splitlines(keepends=True)
        for number, broken in enumerate(("", "hello\n", lines[0] + "value \"a\"\n", lines[0] + "release ../x\n",
                                         lines[0] + "release v\nvalue a\n", lines[0] + "release v\nvalue \"main/metadata.s\"\n body {\n  x 1\n }\n",
                                         lines[0] + "release v\nvalue \"a/b\n", lines[0] + "release v\nvalue \"\\x0\n",
                                         lines[0] + "release v\nvalue \"main/report.5.s\"\n body {\n  strings \"a\"\n",
                                         lines[0] + "release v\nvalue \"q\"\n", text + "value \"q\"\n stored {\n  1\n }\n",
                                         text.replace(lines[2], lines[2] + lines[2], 1), text + "\0\n")):
            run = self.says(1, "load", f"{self.holder.name}/bad{number}", stdin=broken)
            self.assertRegex(run.stderr, "line [0-9]+|not a dump|twice")

    def test_hostile_dumps_only_get_refused(self):
        self.full()
        text = self.says(0, "dump", self.root).stdout
        rng = random.Random(5)
        for turn in range(40 if IS_LONG else 12):
            at = rng.randrange(30, len(text))
            broken = text[:at] + rng.choice(("", "{", "}", "\"", "\\", "9" * 30, " ", "\n", "-")) + text[at + rng.randrange(3):]
            run = subprocess.run([BIN + "/wakepath-store", "load", f"{self.holder.name}/f{turn}"], input=broken, text=True,
                                 capture_output=True, timeout=60, check=False)
            self.assertIn(run.returncode, (0, 1))
            self.assertNotIn("structure", run.stderr)

    def test_a_dump_that_outgrows_the_map(self):
        """Also from a pipe, which cannot be read twice."""
        self.make("v1", *[f"blob:{n}:4000000" for n in range(12 if IS_LONG else 3)])
        text = self.says(0, "dump", self.root).stdout
        self.says(0, "load", self.root + "-again", stdin=text)
        self.assertEqual(pages(self.root, "v1"), pages(self.root + "-again", "v1"))

    def test_dump_as_json(self):
        self.full()
        values = self.json("dump", self.root)[0]["values"]
        self.assertEqual(len(values), len(self.keys()) - 1)
        for value in values:
            self.assertEqual(value, self.json("cat", self.root, "v1", value["key"]))

    # --- backup ---

    def test_backup_of_a_live_store(self):
        self.full()
        self.make("v2", f"time:main:{ago(0)}:5")
        with subprocess.Popen([BIN + "/store_maker", self.root, "v1", "w", f"forever:live:{ago(0)}"], stdout=subprocess.PIPE) as writer:
            for turn in range(4):
                to = f"{self.holder.name}/b{turn}"
                writer.stdout.readline()
                self.says(0, "backup", self.root, "--into", to)
                self.says(0, "verify", to)
                self.assertEqual(self.total("v2", "main", to), 5)
                self.assertGreater(self.total("v1", "live", to), turn)
            writer.kill()
            writer.stdout.read()
        self.assertIn("not written over", self.says(1, "backup", self.root, "--into", to).stderr)
        self.assertEqual(sorted(os.listdir(to)), ["v1", "v2"])

    # --- repair ---

    def test_repair_drops_what_is_damaged(self):
        self.full()
        key = self.damage_one(self.root, "v1")
        before = self.keys()
        self.assertIn("--drop-damaged", self.says(64, "repair", self.root).stderr)
        self.assertIn("would drop: v1/" + key, self.says(0, "repair", "--dry-run", self.root).stdout)
        self.says(1, "verify", self.root)
        self.assertIn("dropped: v1/" + key, self.says(0, "repair", "--drop-damaged", self.root).stdout)
        self.says(0, "verify", self.root)
        self.assertEqual(set(before) - set(self.keys()), {"v1/" + key})
        self.assertIn("nothing is damaged", self.says(0, "repair", "--drop-damaged", self.root).stdout)
        self.assertEqual(self.json("repair", "--drop-damaged", self.root), [])

    def test_repair_mends_what_refers_to_it(self):
        self.full()
        dump = self.says(0, "dump", self.root).stdout
        blob = next(key for key in self.keys() if "__source__" in key).split("/", 1)[1]
        flag = "__state__/shard.s"
        cut, inside = [], False
        for line in dump.splitlines(keepends=True):
            if line.startswith("value "):
                inside = any(f"\"{key}\"" in line for key in (blob, flag, "__state__/last_sample.s"))
            if not inside:
                cut.append(line)
        root = self.root + "-cut"
        self.says(0, "load", root, stdin="".join(cut))
        self.says(1, "verify", root)
        rows = {row["key"]: row["dropped"] for row in self.json("repair", "--drop-damaged", root)}
        self.assertEqual(set(rows), {flag, "__state__/source.s.~0000000001", next(key for key in rows if "processed" in key)})
        self.assertFalse(any(rows.values()))
        self.says(0, "verify", root)

    # --- metadata ---

    def test_three_levels(self):
        self.make("v1", f"time:main:{ago(1)}:5")
        place = self.root + "/v1"
        levels = ((), ("--aggregate", "main"), ("--aggregate", "main", "--timebox", str(ago(1))))
        for number, words in enumerate(levels):
            self.says(0, "metadata", "set", place, "owner", f"team {number}", *words)
        for number, words in enumerate(levels):
            self.assertEqual(self.says(0, "metadata", "get", place, "owner", *words).stdout, f"team {number}\n")
            self.assertEqual(self.says(0, "metadata", "ls", place, *words).stdout, f"owner: team {number}\n")
        self.assertIn(f"v1/main/metadata.~{ago(1)}.s", self.keys())
        self.says(0, "verify", self.root)
        self.says(0, "metadata", "rm", place, "owner", "--aggregate", "main")
        self.assertIn("owner", self.says(1, "metadata", "get", place, "owner", "--aggregate", "main").stderr)
        self.assertEqual(self.says(0, "metadata", "get", place, "owner").stdout, "team 0\n")
        self.assertIn("owner", self.says(1, "metadata", "rm", place, "nobody's owner").stderr)

    def test_the_later_holds_then_the_greater_shard(self):
        self.make("v1", "metadata::k:early:100", shard="b")
        self.make("v1", "metadata::k:late:200", shard="a")
        self.make("v1", "metadata::same:one:5", shard="a")
        self.make("v1", "metadata::same:two:5", shard="b")
        place = self.root + "/v1"
        self.assertEqual(self.says(0, "metadata", "get", place, "k").stdout, "late\n")
        self.assertEqual(self.says(0, "metadata", "get", place, "same").stdout, "two\n")
        self.assertEqual(self.says(0, "metadata", "get", place, "k", "--shard", "b").stdout, "early\n")
        rows = self.json("metadata", "ls", place, "-l")
        self.assertEqual([(row["key"], row["shard"], row["holds"]) for row in rows],
                         [("k", "a", True), ("k", "b", False), ("same", "b", True), ("same", "a", False)])
        self.says(0, "metadata", "set", place, "k", "mine", "--now", "150")  # older than what holds: changes nothing
        self.assertEqual(self.says(0, "metadata", "get", place, "k").stdout, "late\n")
        self.says(0, "metadata", "set", place, "k", "mine")
        self.assertEqual(self.says(0, "metadata", "get", place, "k").stdout, "mine\n")
        self.says(0, "metadata", "rm", place, "k")
        self.says(1, "metadata", "get", place, "k")

    def test_metadata_asked_wrongly(self):
        self.make("v1", "time:main:100:5")
        for words in (("get", self.root + "/v1"), ("set", self.root + "/v1", "k"), ("frob", self.root + "/v1"),
                      ("ls", self.root), ("ls", self.root + "/v1", "--timebox", "5"), ("get", self.root, "v1")):
            self.says(64, "metadata", *words)
        self.assertIn("its writer's alone", self.says(64, "metadata", "set", self.root + "/v1", "bucket.depth", "3", "--aggregate", "main").stderr)
        self.says(0, "verify", self.root)
        for words in (("set", self.root + "/v1", "k", "v", "--shard", "a/b"), ("set", self.root + "/v9", "k", "v")):
            self.says(1, "metadata", *words)
        self.assertFalse(os.path.exists(self.root + "/v9"))

    # --- references ---

    def test_references(self):
        for number, release in enumerate(("zeta", "alpha", "mid")):  # in order of time
            self.make(release, f"time:main:{ago(9 - number)}:{10 ** number}", f"time:main:{ago(8 - number)}:5", f"time:web:{ago(1)}:3")
        cases = {"mid:main": 105, "mid~1:main": 15, "mid~2:main": 6, "mid~:main": 15, f"mid~2:main@{ago(9)}": 1, f"mid:web@{ago(1)}": 3}
        for reference, total in cases.items():
            self.assertEqual(self.json("cat", self.root, reference)["head"]["total_ns"], total, reference)
            self.assertEqual(self.json("cat", self.root + "/" + reference)["head"]["total_ns"], total, reference)
        self.assertEqual(self.json("stat", self.root, "mid~2")[0]["release"], "zeta")
        self.assertEqual(self.says(0, "ls", self.root, f"mid~2:main@{ago(9)}").stdout, f"zeta/main/report.{ago(9)}.s.~0000000001\n")
        for reference in ("mid~3:main", "no~1", "mid:none", "mid:main@7", "mid~x", "mid@5", "mid:", ":main", "mid:main@", "~1"):
            self.says(1, "cat", self.root, reference)

    def test_copies_of_a_root_are_the_same(self):
        self.full()
        shutil.copytree(self.root, self.root + "-copy")
        self.says(0, "merge", self.root, self.root + "-copy", "--into", self.root + "-both")
        self.says(0, "compact", self.root)
        self.assertEqual(self.values(), self.values(self.root + "-both"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
