#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What was recorded with different parameters stands side by side and is never summed: store_bucket_test.py BIN."""
import glob
import json
import os
import re
import subprocess
import unittest

from second_reader import Reader
from store_case import BIN, StoreCase

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class BucketTest(StoreCase):
    def capture(self, seed, frequency=99):
        folder = f"{self.holder.name}/{seed}-{frequency}"
        if not os.path.isdir(folder):
            os.mkdir(folder)
            subprocess.run([BIN + "/fleetgen", "--out", folder, "--seconds", "1", "--seed", str(seed), "--world", str(seed),
                            "--release", "v1", "--frequency", str(frequency)], check=True, timeout=60)
        return sorted(glob.glob(folder + "/*.capture"))[0]

    def record(self, *captures, root=None, options=(), selector="comm=web", shard="local"):
        """One aggregator takes them all, one after the other."""
        root = root or self.root
        socket = f"ipc://{self.holder.name}/s"
        aggregator = subprocess.Popen([BIN + "/wakepath-aggregator", "--bind", socket, "--store", root, "--release", "v1", "--shard", shard,
                                       "--aggregate", "web=" + selector, "--exit-after-sessions", str(len(captures)), *options],
                                      stderr=subprocess.DEVNULL)
        try:
            for capture in captures:
                subprocess.run([BIN + "/wakepath-collector", "--connect", socket, "--source", "capture:" + capture], check=True,
                               stderr=subprocess.DEVNULL, timeout=60)
            self.assertEqual(aggregator.wait(60), 0)
        finally:
            aggregator.kill()
            aggregator.wait()
        self.says(0, "verify", root)
        return root

    def alone(self, capture, **how):
        """The aggregate's whole content when nothing else is in the store."""
        root = self.record(capture, root=f"{self.holder.name}/alone{len(os.listdir(self.holder.name))}", **how)
        return self.content(root, "web")

    def content(self, root, aggregate):
        found = self.json("cat", root, "v1:" + aggregate)
        found.pop("aggregate", None)
        return found

    def buckets(self, root=None):
        return {row["name"]: row.get("differs") for row in self.json("stat", root or self.root, "v1")[0]["aggregates"]}

    def contents(self, root=None):
        root = root or self.root
        return sorted(json.dumps(self.content(root, name), sort_keys=True) for name in self.buckets(root))

    def test_workloads_do_not_mix(self):
        """Of processes that are picked by their name the workload parts the reports, and what a recording ran does not."""
        told = [("--command-line", "sort big"), ("--command-line", "sort big"), ("--command-line", "ls -l /"),
                ("--command-line", "sort big", "--workload", "text"), ()]
        captures = [self.capture(seed) for seed in range(1, 6)]
        for capture, options in zip(captures, told, strict=True):
            self.record(capture, options=options)
        rows = {row["name"]: row for row in self.json("stat", self.root, "v1")[0]["aggregates"]}
        self.assertEqual(sorted(row.get("recorded", "") for row in rows.values()), ["", "workload text"])
        self.assertEqual(self.contents(), sorted(json.dumps(one, sort_keys=True) for one in (
            self.content(self.record(*captures[:3], captures[4], root=self.root + ".two"), "web"), self.alone(captures[3]))))
        self.assertIn("    recorded: workload text\n", self.says(0, "stat", self.root).stdout)

    def test_an_error_is_of_the_name_that_was_given(self):
        self.record(self.capture(1))
        done = subprocess.run([BIN + "/wakepath-reporter", "check", "v1:web@2030-01-01..", "v1:web", "--store", self.root],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "wakepath-reporter: error: aggregate 'web' of release 'v1' has no report in that time\n"))

    def test_what_is_told_is_judged(self):
        for option, text in (("--command-line", ""), ("--workload", "a\nb"), ("--workload", "x" * 3000)):
            ran = subprocess.run([BIN + "/wakepath-aggregator", "--bind", "ipc:///tmp/none", "--store", self.root, option, text],
                                 capture_output=True, text=True, check=False, timeout=20)
            self.assertEqual(ran.returncode, 64, ran.stderr)
            self.assertIn(option + " takes a text of 1 to 2048 bytes", ran.stderr)

    def test_rates_do_not_mix(self):
        slow, fast = self.capture(1), self.capture(2, 997)
        self.record(slow, fast)
        names = self.buckets()
        self.assertEqual(len(names), 2, names)
        self.assertTrue(all(re.fullmatch("web~[0-9a-f]{8}", name) for name in names))
        self.assertEqual(sorted(names.values()), ["sample_period_ns 1003009", "sample_period_ns 10101010"])
        self.assertEqual(self.contents(), sorted(json.dumps(self.alone(one), sort_keys=True) for one in (slow, fast)))
        self.assertIn("recorded with different parameters", self.says(1, "cat", self.root, "v1:web").stderr)
        self.assertIn("apart from others of its name: sample_period_ns", self.says(0, "stat", self.root).stdout)
        listed = self.says(0, "ls", "-R", self.root, "v1").stdout.splitlines()
        digests = {re.search(r"~[0-9a-f]{8}(?=$|\.~|@)", line).group() for line in listed if line.startswith("v1/web/")}
        self.assertEqual({"web" + digest for digest in digests}, set(names), "one folder, each with its digest behind the shard")
        before = self.contents()
        self.says(0, "compact", "--roll-up", self.root)
        self.says(0, "prune", "--hours", "1d", "--now", "99999999999", self.root)
        self.assertEqual(self.contents(), before)

    def test_the_same_meet(self):
        one, two = self.capture(1), self.capture(2)
        self.record(one, two)
        self.assertEqual(list(self.buckets().values()), [None])
        sums = [self.content(self.root, "web")["head"]["total_ns"]] + [self.alone(capture)["head"]["total_ns"] for capture in (one, two)]
        self.assertEqual(sums[0], sums[1] + sums[2])

    def test_tolerance_and_selector(self):
        self.record(self.capture(1))
        self.record(self.capture(2), options=("--fit", "200"))
        self.record(self.capture(3), selector="comm=db")
        self.record(self.capture(4), selector="exe=/usr/bin/web,comm=web")
        self.record(self.capture(5), selector="comm=web,exe=/usr/bin/web")
        differs = self.buckets().values()
        self.assertEqual(len(differs), 4)
        for text in ("fit_ns 200000", "selector comm=db", "selector comm=web,exe=/usr/bin/web"):
            self.assertEqual(len([one for one in differs if text in one]), 1, differs)

    def test_merged_and_read_together(self):
        slow = self.record(self.capture(1), root=self.holder.name + "/slow", shard="one")
        fast = self.record(self.capture(2, 997), root=self.holder.name + "/fast", shard="two")
        same = self.record(self.capture(3), root=self.holder.name + "/same", shard="three")
        apart = self.contents(slow) + self.contents(fast)
        self.says(0, "merge", slow, fast, "--into", self.root)
        self.assertEqual(self.contents(), sorted(apart))
        self.says(0, "verify", self.root)
        self.says(0, "merge", same, "--into", self.root)
        self.assertEqual(len(self.buckets()), 2)
        self.says(0, "import", fast, "--into", self.root)
        self.assertEqual(len(self.buckets()), 2)
        out = self.holder.name + "/site"
        subprocess.run([BIN + "/wakepath-reporter", "--store", slow, "--store", fast, "--store", same, "--out", out], check=True,
                       capture_output=True, timeout=120)
        names = sorted(self.buckets())
        self.assertEqual([name for name in sorted(os.listdir(out + "/v1")) if name.startswith("web")], names)
        with open(out + "/v1/index.html", encoding="utf-8") as file:
            page = file.read()
        self.assertIn("What tells aggregates of one name apart", page)
        for word in ("sample_period_ns", "10101010", "1003009", *names):
            self.assertIn(word, page)
        run = subprocess.run([BIN + "/wakepath-reporter", "--store", slow, "--store", fast, "--release", "v1", "--aggregate", "web",
                              "--format", "json"], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertIn("different parameters", run.stderr)
        for root, name in ((slow, "web"), (self.root, names[0])):
            run = subprocess.run([BIN + "/wakepath-reporter", "--store", root, "--release", "v1", "--aggregate", name, "--format", "json"],
                                 capture_output=True, text=True, check=True, timeout=60)
            self.assertEqual(json.loads(run.stdout)["aggregate"], name)

    def test_metadata(self):
        self.record(self.capture(1))
        name, = self.buckets()
        self.says(0, "metadata", "set", self.root + "/v1", "owner", "search", "--aggregate", "web")
        self.assertEqual(self.says(0, "metadata", "get", self.root + "/v1", "owner", "--aggregate", name).stdout, "search\n")
        self.assertEqual(list(self.buckets()), [name])
        self.assertIn("its writer's alone", self.says(64, "metadata", "set", self.root + "/v1", "bucket.fit_ns", "1", "--aggregate", "web").stderr)
        self.says(0, "verify", self.root)
        other, count = re.subn(r'(key "bucket.fit_ns"\s+value )"\d+"', r'\1"1"', self.says(0, "dump", self.root).stdout)
        self.assertEqual(count, 1)
        self.says(0, "load", self.root + ".other", stdin=other)
        self.assertIn("parameters of the bucket", self.says(1, "verify", self.root + ".other").stdout)

    def test_the_second_reader(self):
        self.record(self.capture(1), self.capture(2, 997))
        found = Reader(TREE + "/proto/store.proto").read(self.root + "/v1")
        names = set()
        for key, value in found.items():
            folder, _, name = key.partition("/")
            # of the bucket, not of its timeboxes
            if value["kind"] == "metadata" and "~" in name and any(entry["key"] == "bucket.aggregate" for entry in value["entries"]):
                bucket = f"{folder}~{name[-8:]}"
                names.add(bucket)
                self.assertEqual(Reader(TREE + "/proto/store.proto").bucket(value["entries"]), bucket)
        self.assertEqual(names, set(self.buckets()))


if __name__ == "__main__":
    unittest.main(argv=["store_bucket_test"], verbosity=2)
