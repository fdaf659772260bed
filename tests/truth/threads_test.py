#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with many threads, recorded as a user does: the first findings say what the main thread waits for, and the total is its progress.
threads_test.py BIN_DIR JAVA_FOLDER"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN, CLASSES = sys.argv[1:3]


class Threads(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wakepath-threads-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder)

    def record(self, *command, flags=()):
        out = os.path.join(self.folder, "out")
        self.told = subprocess.run([os.path.join(BIN, "wakepath"), "record", "--quiet", "--out", out, *flags, "--", *command], check=True,
                                   timeout=200, stdout=subprocess.PIPE, text=True).stdout
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
            return json.load(file)

    def stacks(self):
        """(processes and threads of the pseudo-stack, its last frame, milliseconds)"""
        text = subprocess.run([os.path.join(BIN, "wakepath-reporter"), "--store", os.path.join(self.folder, "out", "store"), "--release",
                               "r", "--aggregate", "main", "--format", "folded"], check=True, capture_output=True, text=True).stdout
        rows = [line.rpartition(" ") for line in text.splitlines()]
        frames = [(stack.split(";"), int(ns) / 1e6) for stack, _, ns in rows]
        return [([frame for frame in stack if frame[0] == "["], stack[-1], ms) for stack, ms in frames]

    def holds(self, summary):
        """The main thread's progress, all of it explained, and nothing of it waits on a path of the same process."""
        self.assertEqual(summary["base"], "progress")
        self.assertGreater(summary["accounted_percent"], 95)
        self.assertLess(summary["total_ns"], 1.05 * summary["wall_ns"], summary["categories"])
        self.assertLess(summary["categories"]["other_path"], 0.05 * summary["total_ns"], summary["categories"])
        self.assertGreater(summary["idle_ns"], summary["wall_ns"])

    @unittest.skipUnless(shutil.which("java"), "no Java")
    def test_three_waits(self):
        """A pool's job, a monitor that another thread holds, garbage collections."""
        summary = self.record("java", "-XX:+UseG1GC", "-cp", CLASSES, "ThreeWaits", flags=("--release", "r"))
        self.holds(summary)
        waits, without_cpu = {}, 0
        for chain, last, ms in self.stacks():
            without_cpu += ms if len(chain) == 1 and "sched:" in last else 0
            for name in set(chain[1:]):
                waits[name] = waits.get(name, 0) + ms
        pooled, held, _ = (int(ms) for ms in self.told.partition("waited ")[2].split())  # on a busy machine it also waits for a CPU
        self.assertGreater(waits.get("[pool-1-thread-1]", 0) + without_cpu, 0.9 * pooled, waits)
        self.assertGreater(waits.get("[keeper]", 0) + without_cpu, 0.9 * held, waits)
        self.assertGreater(waits.get("[VM Thread]", 0), 5, waits)
        self.assertTrue(any("pool-1-thread-1" in row["sentence"] for row in summary["explanations"]), summary["explanations"])
        self.assertIn("java > GC Thread#*", [row["threads"] for row in summary["beside"]])

    def test_ring(self):
        """2,000 threads pass a token: what the main thread waits for is their passing it on, however deep that is."""
        summary = self.record(os.path.join(BIN, "truth_ring"), "2000", "10", flags=("--release", "r"))
        self.holds(summary)
        machine = ("involuntary", "scheduler", "processor")  # what a slow one takes from so many threads may be more
        first = [row["sentence"] for row in summary["explanations"] if row["kind"] not in machine][:3]
        self.assertTrue(any("waiting for its thread station" in sentence for sentence in first), first)
        self.assertLess(max(len(chain) for chain, _, _ in self.stacks()), 16)

    def test_by_threads(self):
        """One flag away: each thread is a path of its own."""
        summary = self.record(os.path.join(BIN, "truth_ring"), "50", "20", flags=("--release", "r", "--threads"))
        self.assertEqual(summary["base"], "threads")
        self.assertGreater(summary["total_ns"], 5 * summary["wall_ns"])
        self.assertNotIn("idle_ns", summary)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
