#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are ruined below LMDB, readers that die, and two writers of one shard. store_ruin_test.py BIN_DIR"""
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

from store_case import BIN, IS_LONG, StoreCase, ago

PAGE = 4096
TURNS = 20 if IS_LONG else 6


def run(program, *words):
    return subprocess.run([f"{BIN}/{program}", *words], capture_output=True, text=True, errors="replace", timeout=60, check=False)


def pages_of(data):
    """The pages of the tree and the first pages of large values, by the numbers that LMDB's page headers have."""
    branch, leaf, overflow = 1, 2, 4
    tree, values, at = [], [], 2  # behind the two meta pages
    while at < len(data) // PAGE:
        flags, pages = struct.unpack_from("<HI", data, at * PAGE + 10)
        (values if flags & overflow else tree).append(at)
        assert flags & (branch | leaf | overflow), (at, flags)
        at += pages if flags & overflow else 1
    return tree, values


class Ruin(StoreCase):
    made = None

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory(prefix="wp-store-ruin-")
        cls.addClassCleanup(cls.made.cleanup)

    def setUp(self):
        """One store for all of them, of which each has a copy."""
        super().setUp()
        if not os.path.exists(self.made.name + "/store"):
            for turn in range(12):  # deep enough for branch pages; reports of 600 facts are large enough for overflow pages
                self.make("v1", *[f"report:a{turn}-{n}:{ago(n)}:{turn * 9 + n}:{600 if n % 3 else 50}" for n in range(9)],
                          f"trace:a1-1:{ago(turn)}:{turn}", root=self.made.name + "/store")
            self.make("v2", f"time:main:{ago(1)}:5", root=self.made.name + "/store")
        shutil.copytree(self.made.name + "/store", self.root)
        self.path = self.root + "/v1/data.mdb"
        with open(self.path, "rb") as file:
            self.whole = file.read()

    def put(self, data):
        with open(self.path, "r+b") as file:
            file.truncate(0)
            file.write(data)

    def everybody(self):
        """All that reads. Nobody may be ended by a signal; returns what they said."""
        said = []
        for words in (("wakepath-reporter", "--store", self.root, "--format", "json", "--release", "v1"),
                      ("wakepath-store", "verify", self.root), ("wakepath-store", "stat", self.root),
                      ("wakepath-store", "ls", "-lR", self.root), ("wakepath-store", "dump", self.root)):
            done = run(*words)
            self.assertIn(done.returncode, (0, 1), (words, done.returncode, done.stderr))
            said.append(done.stdout + done.stderr if words[1] == "verify" else done.stderr)
        return said

    def test_a_whole_file_reads_well(self):
        self.assertFalse("".join(text for text in self.everybody()[2:]))

    def test_a_file_that_was_cut_short(self):
        for size in (0, 1, 100, PAGE, 2 * PAGE, 3 * PAGE, len(self.whole) // 2, len(self.whole) - PAGE, len(self.whole) - 1):
            self.put(self.whole[:size])
            said = self.everybody()
            if 2 * PAGE <= size < len(self.whole) - PAGE:
                for text in said:
                    self.assertRegex(text, "damaged", size)

    def ruined(self, rng, pages):
        """The file with one or three of these pages ruined, in part or as a whole."""
        data = bytearray(self.whole)
        for _ in range(rng.choice((1, 1, 3))):
            at = rng.choice(pages) * PAGE
            size = rng.choice((16, 200, PAGE))
            data[at:at + size] = rng.choice((b"\xff" * size, b"\0" * size, rng.randbytes(size), self.whole[2 * PAGE:2 * PAGE + size]))
        return data

    @unittest.skipIf(os.geteuid(), "mounts a small disk: needs root")
    def test_a_full_disk_is_no_damage(self):
        """LMDB's lock file is a hole that is written to through a map: on a full disk its user dies as if of damage."""
        disk = self.holder.name + "/disk"
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "wp-small", disk], check=True)
        try:
            self.says(0, "backup", self.root, "--into", disk + "/store")
            with open(disk + "/fill", "wb", buffering=0) as fill:
                with self.assertRaises(OSError):
                    while True:
                        fill.write(bytes(4096))
            for words in (("stat", disk + "/store/v2"), ("metadata", "set", disk + "/store/v2", "a", "b"), ("verify", disk + "/store")):
                run = self.says(1, *words)
                self.assertIn("the disk is full", run.stderr + run.stdout)
                self.assertNotIn("damaged", run.stderr + run.stdout)
            os.unlink(disk + "/fill")
            self.says(0, "verify", disk + "/store")
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_ruined_pages(self):
        """Pages of the tree cost the file, pages of values the value. In a copy without free pages: every one is in use."""
        self.whole = self.compacted()
        self.put(self.whole)
        self.assertIn(": 0 faults", self.everybody()[1])
        tree, values = pages_of(self.whole)
        rng = random.Random(11)
        for pages, word in ((tree, r"damaged"), (values, r"[1-9][0-9]* faults?")):
            self.assertGreater(len(pages), 3)
            seen = 0
            for _ in range(TURNS):
                self.put(self.ruined(rng, pages))
                seen += bool(re.search(word, self.everybody()[1]))
            self.assertGreater(seen, TURNS // 2)

    def test_a_site_of_a_cut_store_is_no_success(self):
        """The pages are made, and whoever runs it by cron is told."""
        out = self.holder.name + "/site"
        words = ("wakepath-reporter", "--no-config", "-q", "--store", self.root, "--out", out)
        self.assertEqual(run(*words).returncode, 0)
        self.put(self.whole[:3 * PAGE])
        done = run(*words)
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing of 1 of 2 releases could be read", done.stderr)
        self.assertTrue(os.path.exists(out + "/index.html"))

    def test_a_cut_release_is_not_told_as_copied(self):
        """Of two releases the first is cut: a backup and compact name the other one only, and a dump in JSON is whole."""
        self.put(self.whole[:3 * PAGE])
        names = sorted(os.listdir(self.root))
        self.assertEqual(names[0], "v1", names)
        into = self.holder.name + "/backup"
        done = self.ends(self.root, "wakepath-store", "backup", self.root, "--into", into)
        self.assertEqual((done.returncode, done.stdout.split()), (1, names[1:]))
        done = self.ends(self.root, "wakepath-store", "dump", self.root, "--json")
        self.assertEqual([row["release"] for row in json.loads(done.stdout)], names[1:])
        done = self.ends(self.root, "wakepath-store", "compact", self.root, "--json")
        self.assertEqual((done.returncode, [row["release"] for row in json.loads(done.stdout)]), (1, names[1:]))
        self.assertIn("v1", done.stderr)

    def compacted(self):
        """The file without free pages: every one is in use."""
        with tempfile.TemporaryDirectory() as copy:
            subprocess.run(["mdb_copy", "-c", self.root + "/v1", copy], check=True, timeout=60)
            with open(copy + "/data.mdb", "rb") as file:
                return file.read()

    def ends(self, root, *words):
        """Within a bound of processor time and of what it writes, with a verdict; what it said."""
        def bound():
            resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        done = subprocess.run([BIN + "/" + words[0], *words[1:]], capture_output=True, text=True, errors="replace", timeout=300, check=False,
                              preexec_fn=bound)
        self.assertIn(done.returncode, (0, 1), (words, done.returncode, done.stderr[-500:]))
        if done.returncode:
            self.assertTrue(done.stderr or done.stdout, words)
        return done

    def all_tools(self, data):
        """Each on a copy of its own; then repair, after which what is left verifies or the file is one that nothing can be told apart in."""
        shutil.rmtree(f"{self.holder.name}/tool9", ignore_errors=True)
        for number, words in enumerate((("stat",), ("dump",), ("compact",), ("prune", "--months", "1d", "--traces", "1s", "--no-roll-up"),
                                        ("merge", "--into", "INTO"), ("backup", "--into", "INTO"), ("source", "ls"), ("metadata", "ls"),
                                        ("repair", "--dry-run"), ("repair", "--drop-damaged"))):
            root, into = f"{self.holder.name}/tool{number}", f"{self.holder.name}/into{number}"
            os.makedirs(root + "/v1")
            with open(root + "/v1/data.mdb", "wb") as file:
                file.write(data)
            place = root + "/v1" if words[0] in ("source", "metadata") else root
            two = words[:2] if words[0] in ("source", "metadata") else words[:1]
            rest = [into if word == "INTO" else word for word in words[len(two):]]
            self.ends(root, "wakepath-store", *two, place, *rest)
            if words[0] == "repair" and "--dry-run" in words:
                with open(root + "/v1/data.mdb", "rb") as file:
                    self.assertEqual(file.read(), bytes(data), "who only looks writes nothing")
            if words[-1] == "--drop-damaged":
                verdict = self.ends(root, "wakepath-store", "verify", root)
                if verdict.returncode:
                    self.assertRegex(verdict.stdout + verdict.stderr, "data.mdb'? is (damaged|not an LMDB)", "repair leaves nothing that it could mend")
                    return
                done = self.ends(root, "store_maker", root, "v1", "s", f"report:a1-1:{ago(1)}:5:600")
                self.assertFalse(done.returncode)
                self.assertFalse(self.ends(root, "wakepath-store", "verify", root).returncode)
            shutil.rmtree(root)
            shutil.rmtree(into, ignore_errors=True)

    def test_ruined_heads_of_large_values(self):
        """How many pages a value has, which one it is, that it is one: LMDB frees and copies what the first page says."""
        whole = self.compacted()
        _, values = pages_of(whole)
        digest = 24  # behind the head of the page: in the value's own header
        for name, at, bad, spoils in (("many", 12, b"\xff\xff\xff\x7f", True), ("all", 12, b"\xff\xff\xff\xff", False), ("none", 12, bytes(4), True),
                                      ("some", 12, b"\x09\0\0\0", False), ("number", 0, b"\x03", False), ("kind", 10, b"\x02\0", False)):
            with self.subTest(name):
                data = bytearray(whole)
                at += values[len(values) // 2] * PAGE
                data[at:at + len(bad)] = bad
                if spoils:
                    data[at // PAGE * PAGE + 16 + digest] ^= 0xff
                self.put(data)
                said = self.ends(self.root, "wakepath-store", "verify", self.root)
                self.assertIn("repair mends that", said.stdout + said.stderr)
                root = self.holder.name + "/mended"
                shutil.copytree(self.root, root)
                done = self.ends(root, "store_maker", root, "v1", "s", f"report:a1-1:{ago(1)}:5:600")
                done = self.ends(root, "wakepath-store", "repair", root, "--drop-damaged")
                self.assertIn("mended", done.stdout)
                self.assertEqual("dropped" in done.stdout, spoils, done.stdout)
                self.assertFalse(self.ends(root, "wakepath-store", "verify", root).returncode)
                shutil.rmtree(root)
                self.all_tools(data)

    def test_every_tool_ends(self):
        """Whatever page of the file is ruined: the meta pages, the tree, values, the tree of free pages."""
        for words in (("prune", "--months", "1d", "--traces", "1s", "--no-roll-up"), ("compact",)):
            self.ends(self.root, "wakepath-store", words[0], self.root, *words[1:])  # a file with free pages
        with open(self.path, "rb") as file:
            pruned = file.read()
        rng = random.Random(12)
        for number in range(TURNS):
            whole = pruned if number % 2 else self.whole
            data = bytearray(whole)
            for _ in range(rng.choice((1, 1, 3))):
                at = rng.randrange(2 if number % 8 < 2 else len(whole) // PAGE) * PAGE + rng.choice((0, 0, 0, 16, 48, 136, 2048))
                bad = rng.choice((b"\xff" * 16, b"\0" * 16, rng.randbytes(16), rng.randbytes(200), b"\xff" * PAGE))
                bad = bad[:len(data) - at]
                data[at:at + len(bad)] = bad
            self.put(data)
            with self.subTest(number):
                self.ends(self.root, "wakepath-reporter", "--no-config", "--store", self.root, "--format", "json", "--release", "v1")
                self.all_tools(data)

    def test_a_writer_is_not_killed_by_a_short_file(self):
        self.put(self.whole[:3 * PAGE])
        done = run("store_maker", self.root, "v1", "s", f"time:main:{ago(1)}:5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cut short", done.stderr)

    def test_readers_that_were_killed_hold_nothing_back(self):
        """A reader that is stopped holds back pages; killed, and the file is used again."""
        root = self.holder.name + "/r"
        self.make("v1", "time:main:100:5", root=root)
        reader = subprocess.Popen([BIN + "/store_reader", root, "v1"], stdout=subprocess.PIPE)
        self.assertEqual(reader.stdout.readline(), b"reading\n")
        reader.send_signal(signal.SIGKILL)
        reader.wait()
        reader.stdout.close()
        sizes = []
        for turn in range(40):
            self.make("v1", f"metadata::k:{'x' * 150}:{turn}", f"trace:main:100:{turn}", root=root)
            sizes.append(os.stat(root + "/v1/data.mdb").st_size)
        self.assertEqual(sizes[20], sizes[39])


class Shards(StoreCase):
    def aggregator(self, name, shard):
        bound, ready = os.pipe()
        process = subprocess.Popen([BIN + "/wakepath-aggregator", "--bind", f"ipc://{self.holder.name}/{name}.sock", "--store",
                                    self.root, "--shard", shard, "--ready-fd", str(ready)],
                                   pass_fds=[ready], stderr=subprocess.PIPE, text=True)
        os.close(ready)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        with os.fdopen(bound, "rb") as pipe:
            return process, pipe.readline()

    def test_a_shard_has_one_writer(self):
        first, line = self.aggregator("a", "one")
        self.assertTrue(line)
        second, line = self.aggregator("b", "one")
        self.assertFalse(line)
        self.assertEqual(second.wait(20), 1)
        text = second.stderr.read()
        self.assertIn("shard 'one'", text)
        self.assertIn(str(first.pid), text)
        _, line = self.aggregator("c", "two")
        self.assertTrue(line)
        first.send_signal(signal.SIGKILL)  # its claim ends with it
        _, line = self.aggregator("d", "one")
        self.assertTrue(line)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
