#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which objects and JIT maps each process had, as an aggregator learns it from stacks: store_source_test.py BIN."""
import os
import re
import subprocess
import unittest

from second_reader import Reader
from store_case import BIN, DAY, StoreCase

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JIT = "/tmp/perf-10061.map"


class SourceTest(StoreCase):
    def text(self, jit=False):
        path = f"{self.holder.name}/text{jit}"
        with open(TREE + "/tests/perf_script/recorded.txt", encoding="utf-8") as file, open(path, "w", encoding="utf-8") as out:
            out.write(file.read().replace("/usr/local/bin/busy", JIT) if jit else file.read())
        return path

    def record(self, path, root=None, shard="local"):
        socket = f"ipc://{self.holder.name}/s"
        aggregator = subprocess.Popen([BIN + "/wakepath-aggregator", "--bind", socket, "--store", root or self.root, "--release", "v1", "--shard",
                                       shard, "--auto-aggregates", "5", "--exit-after-sessions", "1"], stderr=subprocess.DEVNULL)
        try:
            subprocess.run([BIN + "/wakepath-collector", "--connect", socket, "--source", "perf-script:" + path], check=True,
                           stderr=subprocess.DEVNULL, timeout=60)
            self.assertEqual(aggregator.wait(60), 0)
        finally:
            aggregator.kill()
            aggregator.wait()
        self.says(0, "verify", root or self.root)

    def sources(self, shard="local", root=None):
        """{pid: {object: what its blob says}}"""
        found = {}
        for row in self.json("cat", f"{root or self.root}/v1/__state__/source.{shard}")["sources"]:
            digest = row["digest"]
            blob = self.json("cat", f"{root or self.root}/v1/__source__/{digest[:2]}/{digest[2:4]}/{digest}")
            self.assertNotIn(row["name"], found.setdefault(row["pid"], {}))
            found[row["pid"]][row["name"]] = blob["text"]
        return found

    @staticmethod
    def told(path):
        """What the text says: which objects stand in the stacks of a process, of those where it goes to sleep or is sampled."""
        found, pid, objects = {}, None, []
        with open(path, encoding="utf-8") as file:
            for line in file:
                if head := re.match(r"\S.*?\s(\d+)/\d+ .*(?:prev_state=[SD] |cpu-clock)", line):
                    pid, objects = int(head[1]), []
                elif line.startswith("\t") and pid and "kernel" not in line:
                    found.setdefault(pid, set()).add(line.rsplit("(", 1)[1].rstrip(")\n"))
                elif not line.strip():
                    pid = None
        return found

    def test_objects(self):
        path = self.text()
        self.record(path)
        sources, told = self.sources(), self.told(path)
        self.assertGreater(len(told), 3)
        for pid, objects in told.items():
            self.assertLessEqual({name for name in objects if name.startswith("/")}, set(sources[pid]), pid)
        self.assertTrue(all(text == f"object {name}\n" for objects in sources.values() for name, text in objects.items()))
        self.assertIn("/usr/local/bin/busy", sources[10061])
        found = Reader(TREE + "/proto/store.proto").read(self.root + "/v1")
        self.assertEqual(found["__state__/source.local"]["sources"], self.json("cat", f"{self.root}/v1/__state__/source.local")["sources"])

    def test_jit_map(self):
        self.record(self.text(jit=True))
        lines = self.sources()[10061][JIT].splitlines()
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, r"^[0-9a-f]+ \S")
        self.assertNotIn("/usr/local/bin/busy", self.sources()[10061])

    def test_two_hosts_store_it_once(self):
        other = self.holder.name + "/other"
        self.record(self.text(), shard="one")
        self.record(self.text(), root=other, shard="two")
        blobs = {key for key in self.keys() if "__source__" in key}
        self.says(0, "merge", other, "--into", self.root)
        self.assertEqual({key for key in self.keys() if "__source__" in key}, blobs)
        self.assertEqual(self.sources("one"), self.sources("two"))
        before = self.values()
        self.says(0, "merge", other, "--into", self.root)
        self.assertEqual(self.values(), before)
        self.says(0, "verify", self.root)

    def test_expiry(self):
        self.record(self.text())
        sources = self.sources()
        later = str(2000000000 + 40 * DAY)
        self.says(0, "prune", self.root, "--hours", "1d", "--no-roll-up", "--now", later)
        self.says(0, "verify", self.root)
        kept = self.sources()
        self.assertLess(len(kept), len(sources) + 1)
        named = {digest["digest"] for digest in self.json("cat", f"{self.root}/v1/__state__/source.local")["sources"]}
        self.assertEqual({key.rsplit("/", 1)[1] for key in self.keys() if "__source__/" in key}, named)

    def test_a_lost_blob(self):
        self.record(self.text())
        text = self.says(0, "dump", self.root).stdout
        cut = re.sub(r'value "__source__/[^"]*"\n( .*\n)+', "", text, count=1)
        self.assertNotEqual(cut, text)
        other = self.holder.name + "/other"
        self.says(0, "load", other, stdin=cut)
        self.assertIn("it names a __source__ value that is not there", self.says(1, "verify", other).stdout)
        self.says(0, "repair", "--drop-damaged", other)
        self.says(0, "verify", other)
        self.assertTrue(self.sources(root=other))


if __name__ == "__main__":
    unittest.main(argv=["store_source_test"], verbosity=2)
