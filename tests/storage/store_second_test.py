#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The second reader agrees with wakepath-store on made stores and on one of a real run. store_second_test.py BIN_DIR"""
import os
import subprocess
import sys
import unittest

from second_reader import Reader, session_of, shard_of
from store_case import BIN, StoreCase, ago

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Second(StoreCase):
    def agree(self, release):
        """Value for value; and the references between them hold."""
        found = Reader(TREE + "/proto/store.proto").read(f"{self.root}/{release}")
        told = {value["key"]: value for value in self.json("dump", self.root, release)[0]["values"]}
        self.assertEqual(set(found), set(told))
        for key, value in found.items():
            wanted = told[key]
            if value["kind"] == "report":
                value["head"].pop("timebox_length_s", None)
                wanted["head"].pop("timebox_length_s", None)
                for side in (value, wanted):  # shown largest first, ties as they come
                    side["unexplained"] = sorted(map(str, side["unexplained"]))
                self.assertAlmostEqual(value.pop("coverage"), wanted.pop("coverage"))
            self.assertEqual(value, wanted, key)
        for key in found:
            if (shard := shard_of(key)) is not None:
                self.assertIn("__state__/shard." + shard, found, key)
            if "/processed." in key:
                sessions = [entry["session"] for entry in found[f"__state__/last_sample.{shard}"]["entries"]]
                self.assertIn(session_of(key), sessions)
        return found

    def test_every_kind(self):
        for seed in range(3):
            for shard in ("s", "10.0.0.7", f"x{seed}"):
                self.make(f"v{seed}", f"report:main:{ago(1)}:{seed}", f"report:main:{ago(1)}:{seed + 1}", f"report:web:{ago(60)}:{seed}",
                          f"trace:main:{ago(1)}:{seed}",
                          *(f"exemplar:main:{ago(1)}:{service}:{length}:{seed}" for service in ("", "tcp port 80", "tcp port 5432")
                            for length in (5000, 7000, 900, 12000, 400, 7001)), f"session:{seed}:2:3", f"map:{seed}", f"map:{seed + 1}", f"clock:{seed}",
                          "metadata::a:b:3", "metadata:main:a:b:3", f"process:h:{seed}:2:3:4", f"source:h:1:2:{seed}:1000", shard=shard)
            self.says(0, "metadata", "set", self.root + f"/v{seed}", "k", "v", "--aggregate", "main", "--timebox", str(ago(1)))
            found = self.agree(f"v{seed}").values()
            self.assertEqual(len({value["kind"] for value in found}), 12)
            reports = [value for value in found if value["kind"] == "report"]
            for rows in ("times", "processes", "unexplained", "spans", "hosts", "events", "limits", "edges"):
                self.assertTrue(any(report[rows] for report in reports), rows)
            self.assertTrue(any(time["samples"] for report in reports for time in report["times"]))
            self.says(0, "compact", "--roll-up", self.root)
            self.agree(f"v{seed}")

    def test_a_real_run(self):
        socket = f"ipc://{self.holder.name}/s"
        aggregator = subprocess.Popen([BIN + "/wakepath-aggregator", "--bind", socket, "--store", self.root, "--release", "real",
                                       "--auto-aggregates", "5", "--exit-after-sessions", "1"], stderr=subprocess.DEVNULL)
        try:
            subprocess.run([BIN + "/wakepath-collector", "--connect", socket, "--source",
                            "perf-script:" + TREE + "/tests/perf_script/recorded.txt"], check=True, stderr=subprocess.DEVNULL, timeout=60)
            self.assertEqual(aggregator.wait(60), 0)
        finally:
            aggregator.kill()
            aggregator.wait()
        found = self.agree("real")
        reports = [value for value in found.values() if value["kind"] == "report"]
        self.assertTrue(reports)
        self.assertGreater(sum(report["head"]["total_ns"] for report in reports), 0)
        self.says(0, "verify", self.root)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
