#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath-store merge. store_merge_test.py BIN_DIR"""
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

from store_case import BIN, IS_LONG, NOW, StoreCase, ago


class Merge(StoreCase):
    def path(self, name):
        return f"{self.holder.name}/{name}"

    def merge(self, into, *sources, status=0, words=()):
        return self.says(status, "merge", *[self.path(name) for name in sources], "--into", self.path(into), *words)

    def host(self, name, seed, shard=None, releases=("v1", "v2")):
        """A root as an aggregation host leaves it: all kinds of values."""
        rng = random.Random(seed)
        for release in releases:
            self.make(release, *[f"report:{rng.choice(('main', 'web'))}:{ago(rng.randrange(5), rng.randrange(12))}:{rng.randrange(999)}"
                                 for _ in range(6)],
                      f"trace:main:{ago(2)}:{seed}", f"session:{seed % 200}:{seed}:{ago(1)}", f"process:h{seed}:1:5:0:0",
                      f"map:{seed}", f"clock:{seed}", f"metadata::user:{seed}:{seed}", f"metadata:main:note:{seed}:{seed}",
                      "blob:7:3000", f"blob:{seed}:3000", shard=shard or f"s{seed}", root=self.path(name))

    def held(self, name):
        """Content alone: a merged store is compacted, so both are."""
        self.says(0, "compact", self.path(name))
        self.says(0, "verify", self.path(name))
        return self.values(self.path(name))

    def sums(self, name):
        return {(release, aggregate): self.total(release, aggregate, self.path(name))
                for release in ("v1", "v2") for aggregate in ("main", "web")}

    def test_many_roots_at_once(self):
        roots = []
        for number in range(12):
            roots.append(f"{self.holder.name}/host{number}")
            self.make("v1", f"report:main:{ago(1)}:{number}", shard=f"s{number}", root=roots[-1])
        self.says(0, "merge", *roots, "--into", self.root)
        self.assertEqual(self.total("v1", "main"), sum(self.total("v1", "main", root) for root in roots))
        self.assertEqual(len([key for key in self.keys() if "/__state__/shard." in key]), 12)

    def test_two_hosts(self):
        self.host("a", 1)
        self.host("b", 2)
        self.merge("c", "a", "b")
        one, other, both = self.held("a"), self.held("b"), self.held("c")
        self.assertEqual(both, {**one, **other})
        self.assertEqual(self.sums("c"), {key: value + self.sums("b")[key] for key, value in self.sums("a").items()})

    def test_again_and_again_counts_once(self):
        self.host("a", 1)
        self.host("b", 2)
        self.merge("c", "a", "b", "a")
        wanted = self.held("c")
        self.merge("c", "a", "b")
        again = self.json("merge", self.path("a"), self.path("b"), "--into", self.path("c"))
        self.assertEqual([row["written"] for row in again], [0, 0, 0, 0])
        self.assertEqual(self.held("c"), wanted)

    def test_order_and_grouping_do_not_matter(self):
        """Four roots, of which two are the same shards at different times."""
        self.host("a", 1)
        shutil.copytree(self.path("a"), self.path("later"))
        self.make("v1", f"report:main:{ago(0)}:77", f"metadata::user:later:{NOW}", "session:1:99:" + str(NOW), shard="s1",
                  root=self.path("later"))
        self.host("b", 2)
        self.host("d", 3, releases=("v2",))
        self.merge("left", "a", "b")
        self.merge("left2", "left", "later")
        self.merge("left3", "left2", "d")
        self.merge("right", "d", "later")
        self.merge("right2", "b", "right")
        self.merge("right3", "right2", "a")
        self.merge("flat", "later", "d", "a", "b")
        self.assertEqual(self.held("left3"), self.held("right3"))
        self.assertEqual(self.held("left3"), self.held("flat"))
        self.assertEqual(self.sums("flat")["v1", "main"], self.sums("later")["v1", "main"] + self.sums("b")["v1", "main"])

    def test_a_shard_that_grows(self):
        self.host("a", 1)
        self.make("v1", f"time:main:{ago(0)}:1", shard="s1", root=self.path("a"))
        self.merge("c", "a")
        self.make("v1", f"time:main:{ago(0)}:1000", f"time:main:{ago(0, 1)}:5", "session:1:50:" + str(NOW), shard="s1", root=self.path("a"))
        self.merge("c", "a")
        self.assertEqual(self.held("c"), self.held("a"))

    def test_what_the_source_has_let_go_of_stays(self):
        """The archive keeps hours that the host has pruned, and takes new ones."""
        self.make("v1", f"time:main:{ago(50, 3)}:7", f"time:main:{ago(9)}:5", shard="s1", root=self.path("a"))
        self.merge("c", "a")
        self.says(0, "prune", self.path("a"), "--now", str(NOW), "--no-roll-up")
        self.make("v1", f"time:main:{ago(0)}:11", shard="s1", root=self.path("a"))
        self.merge("c", "a")
        self.assertEqual(self.total("v1", "main", self.path("a")), 16)
        self.assertEqual(self.total("v1", "main", self.path("c")), 23)

    def test_days_and_hours_of_one_shard(self):
        """Either side may have rolled up what the other has not."""
        self.make("v1", *[f"time:main:{ago(50, hour)}:{hour + 1}" for hour in range(24)], f"time:main:{ago(0)}:1000",
                  root=self.path("hours"))
        shutil.copytree(self.path("hours"), self.path("days"))
        self.says(0, "compact", "--roll-up", self.path("days"), "--now", str(NOW))
        for into, sources in (("c", ("hours", "days")), ("d", ("days", "hours"))):
            for source in sources:
                self.merge(into, source)
            self.assertEqual(self.total("v1", "main", self.path(into)), 1300)
            self.assertIn(f"v1/main/report.{ago(50)}.s", self.keys(self.path(into)))
        self.assertEqual(self.held("c"), self.held("d"))

    def test_namesakes_are_refused(self):
        self.host("a", 1, "local")
        self.host("b", 2, "local")
        self.assertIn("not the same", self.merge("c", "a", "b", status=1).stderr)
        self.assertFalse(os.path.exists(self.path("c")))
        self.merge("c", "a")
        before = self.held("c")
        run = self.merge("c", "b", status=1)
        self.assertIn("--rename-shard", run.stderr)
        self.assertEqual(self.held("c"), before)
        self.merge("c", "b", words=("--rename-shard",))
        for _ in range(2):
            self.merge("c", "b")  # it is known by now
            shards = [key.split("/shard.")[1] for key in self.keys(self.path("c")) if "v1/__state__/shard." in key]
            self.assertEqual(len(shards), 2)
            self.assertEqual(shards[0], "local")
            self.assertRegex(shards[1], r"^local\.[0-9a-f]{8}$")
            self.assertEqual(self.sums("c")["v1", "main"], self.sums("a")["v1", "main"] + self.sums("b")["v1", "main"])

    def test_conflicts_follow_the_rules(self):
        self.make("v1", "metadata::k:old:5", "metadata::only:a:1", "session:1:9:100", "map:1", root=self.path("a"))
        shutil.copytree(self.path("a"), self.path("b"))
        self.make("v1", "metadata::k:new:6", "session:1:12:90", "map:2", root=self.path("b"))
        self.make("v1", "metadata::mine:a:9", root=self.path("a"))
        self.merge("c", "b", "a")
        rows = {row["key"]: row["value"] for row in self.json("cat", self.path("c"), "v1", "__state__/metadata.s")["entries"]}
        self.assertEqual(rows, {"k": "new", "only": "a", "mine": "a"})
        self.assertEqual([row["real_s"] for row in self.json("cat", self.path("c"), "v1", "__state__/last_sample.s")["entries"]], [100])
        processed = next(key for key in self.keys(self.path("c")) if "/processed." in key)
        self.assertEqual(self.json("cat", self.path("c") + "/" + processed)["seq"], 12)
        self.assertEqual(len(self.json("cat", self.path("c"), "v1", "__state__/sourcemap.s")["functions"]), 2)

    def test_one_release_of_a_root(self):
        self.host("a", 1)
        self.says(0, "merge", self.path("a") + "/v2", "--into", self.path("c"))
        self.assertEqual(self.says(0, "ls", self.path("c")).stdout, "v2/\n")

    def test_damage_is_left_out_and_named(self):
        self.make("v1", f"report:main:{ago(0)}:1", f"report:main:{ago(1)}:2", root=self.path("a"))
        self.damage_one(self.path("a"), "v1")
        run = self.merge("c", "a", status=1)
        self.assertIn("left out", run.stderr)
        self.says(0, "verify", self.path("c"))
        self.assertEqual(len([key for key in self.keys(self.path("c")) if "/report." in key]), 1)

    def test_not_into_itself(self):
        self.host("a", 1)
        self.assertIn("itself", self.merge("a", "a", status=1).stderr)
        os.mkdir(self.path("link"))
        os.symlink(self.path("a/v1"), self.path("link/v1"))
        self.assertIn("itself", self.merge("a", "link", status=1).stderr)
        self.says(0, "verify", self.path("a"))
        self.assertIn("--into", self.says(64, "merge", self.path("a")).stderr)

    def test_death_at_any_moment(self):
        for seed in (1, 2, 3):
            self.host("a" if seed < 3 else "b", seed, f"s{seed}")
            self.make("v1", *[f"blob:{100 * seed + n}:60000" for n in range(12)], shard=f"s{seed}", root=self.path("a" if seed < 3 else "b"))
        whole = {**self.held("a"), **self.held("b")}
        before = self.held("b")
        for turn in range(0, 20, 1 if IS_LONG else 3):
            shutil.copytree(self.path("b"), self.path("k"))
            merge = subprocess.Popen([BIN + "/wakepath-store", "merge", self.path("a"), "--into", self.path("k")],
                                     stdout=subprocess.DEVNULL, start_new_session=True)
            time.sleep(turn * 0.002)
            os.killpg(merge.pid, signal.SIGKILL)
            merge.wait()
            now = self.held("k")
            for release in ("v1/", "v2/"):
                part = {key: value for key, value in now.items() if key.startswith(release)}
                self.assertIn(part, [{key: value for key, value in held.items() if key.startswith(release)}
                                     for held in (before, whole)])
            self.merge("k", "a")
            self.assertEqual(self.held("k"), whole)
            shutil.rmtree(self.path("k"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
