#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Late data, and what an aggregator says of timeboxes: store_late_test.py BIN. Captures of generated hosts, whose hours are over long ago, go
to real aggregators."""
import glob
import json
import os
import re
import signal
import subprocess
import time
import unittest
import urllib.request

from store_case import BIN, StoreCase

PATIENCE_S = 120


class LateTest(StoreCase):
    def setUp(self):
        super().setUp()
        self.folder = self.holder.name
        self.children = []

    def tearDown(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            child.stderr.close()
        super().tearDown()

    def captures(self, seed=1, seconds=3):
        folder = f"{self.folder}/captures{seed}"
        os.mkdir(folder)
        subprocess.run([BIN + "/fleetgen", "--out", folder, "--seconds", str(seconds), "--seed", str(seed), "--release", "v1"], check=True, timeout=60)
        return sorted(glob.glob(folder + "/*.capture"))

    def start(self, name, *words, **how):
        child = subprocess.Popen([f"{BIN}/{name}", "--no-config", *words], stderr=subprocess.PIPE, text=True, **how)
        self.children.append(child)
        return child

    def aggregator(self, sessions, *words, root=None):
        down, up = os.pipe()
        child = self.start("wakepath-aggregator", "--bind", f"ipc://{self.folder}/a", "--store", root or self.root, "--release", "v1", "--aggregate",
                           "web=comm=web", "--exit-after-sessions", str(sessions), "--ready-fd", str(up), *words, pass_fds=[up])
        os.close(up)
        self.assertTrue(os.read(down, 6))
        os.close(down)
        return child

    def replay(self, capture):
        return self.start("wakepath-collector", "--source", f"capture:{capture}", "--connect", f"ipc://{self.folder}/a")

    def ended(self, *children):
        for child in children:
            text = child.communicate(timeout=PATIENCE_S)[1]
            self.assertEqual(child.returncode, 0, text)

    def timeboxes(self, root=None):
        """{key: value} of each timebox of web."""
        boxes = {re.search(r"/report\.(\d+)\.", key).group(1) for key in self.keys(root) if "/web/report." in key}
        return [{row["key"]: row["value"] for row in self.json("metadata", "ls", (root or self.root) + "/v1", "--aggregate", "web", "--timebox", box)}
                for box in boxes]

    def timebox(self, root=None):
        boxes = self.timeboxes(root)
        self.assertEqual(len(boxes), 1)
        return boxes[0]

    def late(self):
        return sum(int(said.get("late.total_ns", 0)) for said in self.timeboxes())

    def report(self, root=None):
        return json.loads(subprocess.run([BIN + "/wakepath-reporter", "--store", root or self.root, "--release", "v1", "--aggregate", "web", "--format",
                                          "json"], check=True, capture_output=True, text=True, timeout=60).stdout)

    def late_of_hosts(self, said):
        return {key.split(".")[1]: int(value) for key, value in said.items() if key.endswith(".late.total_ns") and key.startswith("host.")}

    def test_all_of_it_is_late(self):
        captures = self.captures()
        began_s = int(time.time())
        aggregator = self.aggregator(len(captures))
        self.ended(*[self.replay(capture) for capture in captures], aggregator)
        said, total = self.timebox(), self.total("v1", "web")
        self.assertGreater(total, 10 ** 9)
        self.assertEqual(int(said["late.total_ns"]), total)
        self.assertEqual(sum(self.late_of_hosts(said).values()), total)
        self.assertGreaterEqual(int(said["late.last_s"]), began_s)
        report = self.report()
        self.assertEqual((report["late_ns"], report["total_ns"]), (total, total))
        self.assertEqual(report["late_last_s"], int(said["late.last_s"]))
        for host in report["host_names"] if "host_names" in report else self.late_of_hosts(said):
            self.assertTrue(said[f"host.{host}.version"], "what each host is")
            self.assertIn(f"host.{host}.kernel", said)
        site = self.folder + "/site"
        subprocess.run([BIN + "/wakepath-reporter", "--store", self.root, "--out", site], check=True, timeout=60, stdout=subprocess.DEVNULL)
        with open(glob.glob(site + "/**/web*/about.html", recursive=True)[0], encoding="utf-8") as file:
            self.assertIn("Came late", file.read())
        self.says(0, "verify", self.root)

    def test_what_is_not_late(self):
        captures = self.captures()
        aggregator = self.aggregator(len(captures), "--late-after", "never")
        self.ended(*[self.replay(capture) for capture in captures], aggregator)
        self.says(0, "import", captures[0], "--into", self.folder + "/imported", "--aggregate", "web=comm=web")
        for root in (self.root, self.folder + "/imported"):
            said = self.timebox(root)
            self.assertFalse([key for key in said if "late" in key])
            self.assertTrue([key for key in said if key.endswith(".kernel")])
            self.assertNotIn("late_ns", self.report(root))

    def test_metrics(self):
        captures = self.captures()
        aggregator = self.aggregator(len(captures) + 1, "--metrics", "127.0.0.1:0")
        address = None
        while not address:
            address = re.search(r"serving metrics address=(\S+)", aggregator.stderr.readline())
        self.ended(*[self.replay(capture) for capture in captures])
        wanted, found = self.total("v1", "web") / 1e9, 0.0
        until = time.monotonic() + PATIENCE_S
        while abs(found - wanted) > 1e-3 * wanted and time.monotonic() < until:
            with urllib.request.urlopen(f"http://{address[1]}/metrics", timeout=30) as answer:
                found = float(re.search(r"^wakepath_aggregator_late_seconds_total (\S+)$", answer.read().decode(), re.M).group(1))
            wanted = self.total("v1", "web") / 1e9
        self.assertAlmostEqual(found, wanted, delta=1e-3 * wanted)

    def test_it_is_added_to_and_counted_once(self):
        """kill -9 of the aggregator when something of it is in the store; then another session for the same hour; then two stores read as one."""
        captures = self.captures(seconds=8)
        aggregator = self.aggregator(len(captures))
        collectors = [self.replay(capture) for capture in captures]
        killed = False
        while aggregator.poll() is None and not killed:
            if os.path.exists(self.root + "/v1/data.mdb") and any("/web/metadata.~" in key for key in self.keys()):
                aggregator.send_signal(signal.SIGKILL)
                killed = True
        aggregator.wait()
        again = self.aggregator(1000) if killed else None # those whose sessions it has begun come back, whatever they still have to say
        self.ended(*collectors)
        if again:
            again.terminate()
            self.ended(again)
        first = self.total("v1", "web")
        self.assertEqual(self.late(), first)
        more = self.captures(seed=2)
        aggregator = self.aggregator(len(more))
        self.ended(*[self.replay(capture) for capture in more], aggregator)
        total = self.total("v1", "web")
        self.assertGreater(total, first)
        self.assertEqual(self.late(), total)
        other = self.captures(seed=3)
        aggregator = self.aggregator(len(other), "--shard", "two", root=self.folder + "/other")
        self.ended(*[self.replay(capture) for capture in other], aggregator)
        self.says(0, "merge", self.folder + "/other", "--into", self.root)
        self.assertEqual(self.report()["late_ns"], self.total("v1", "web"))
        self.assertGreater(self.total("v1", "web"), total)


if __name__ == "__main__":
    unittest.main(argv=["store_late_test"], verbosity=2)
