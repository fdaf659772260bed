#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real recording through the exports: read by independent readers, they hold what the store holds, no more and no less."""
import collections
import glob
import json
import os
import subprocess
import sys

from recording import RecordTest, main, program

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reporter"))
import exports  # noqa: E402  (a neighbour's folder)

COMMAND = "for i in 1 2 3; do head -c 2000000 /dev/urandom | gzip -c | md5sum; sleep 0.2; done"


class RealExports(RecordTest):
    def export(self, form, *args):
        done = subprocess.run([program("wakepath-reporter"), "--store", self.store, "--format", form, *args], capture_output=True,
                              check=True, timeout=60)
        return done.stdout

    def stored(self, *args):
        return subprocess.run([program("wakepath-store"), *args], capture_output=True, text=True, check=True, timeout=60).stdout

    def trace(self):
        """What the store says of the window that was kept, as `wakepath-store` reads it."""
        keys = [word for word in self.stored("ls", "--recursive", self.store).split() if "/trace." in word]
        self.assertEqual(len(keys), 1, keys)
        return json.loads(self.stored("cat", "--json", os.path.join(self.store, keys[0])))

    def check_stacks(self, total):
        pprof, objects = exports.read_pprof(self.export("pprof"))
        self.assertEqual(sum(row[3] for row in pprof), total)
        self.assertIn("[kernel]", objects.values())
        tables = exports.read_ndjson(self.export("ndjson"))
        stacks = sorted((tuple(row["stack"]), row["category"], row["count"], row["ns"]) for row in tables["stacks"])
        self.assertEqual(sorted(pprof), stacks)
        _, perun = exports.read_perun(self.export("perun"))
        found, wanted = collections.Counter(), collections.Counter()
        for _, stack, category, ns, _ in perun:
            found[stack, category] += ns
        for stack, category, _, ns in stacks: # two places without a name look alike
            wanted[stack, category] += ns
        self.assertEqual(found, wanted)
        self.assertGreater(len({row[0] for row in perun}), 2)  # 0.6 s at least, in stretches of 0.13 s
        rows = exports.read_csv(self.export("csv", "--table", "stacks"))
        self.assertEqual(sum(int(row["ns"]) for row in rows), total)
        waits = {(row["waiter"], row["waits_for"]): row["ns"] for row in tables["waits"]}
        self.assertGreater(waits["[sh]", "[sleep]"], 550e6)

    def check_perfetto(self, trace):
        slices, flows, names = exports.read_perfetto(self.export("perfetto"))
        counts = collections.Counter(row[2] for rows in slices.values() for row in rows)
        self.assertEqual((counts["run"], counts["sleep"]), (len(trace["runs"]), len(trace["sleeps"])))
        self.assertEqual((len(names), len(flows)), (len(trace["threads"]), len(trace["links"])))
        self.assertGreater(counts["run"], 20)
        for track, rows in slices.items():
            for before, after in zip(rows, rows[1:]):
                self.assertLessEqual(before[1], after[0], (track, before, after))
        for kind, source, at, target, to, encloses in flows:
            self.assertTrue(any(start <= at < end for start, end, _, _ in slices[source]), (kind, source, at))
            self.assertTrue(any(start <= to < end if encloses else start >= to for start, end, _, _ in slices[target]),
                            (kind, target, to))

    def check_speedscope(self, trace, total):
        profiles = exports.read_speedscope(self.export("speedscope"))
        self.assertEqual(sum(ns for _, ns in profiles[0][1]), total)
        self.assertEqual(len(profiles) - 1, len({piece["path"] for piece in trace["pieces"]}))
        samples = sum(len([stack for stack, _ in rows if stack]) for _, rows in profiles[1:])
        self.assertEqual(samples, len(trace["pieces"]))
        drawn = sum(ns for _, rows in profiles[1:] for stack, ns in rows if stack)
        self.assertEqual(drawn, sum(piece["length_ns"] for piece in trace["pieces"]))

    def check_folded(self, total):
        """What begins with a bracket is a process and nothing else: the programs here have been stripped of their symbols."""
        stacks = exports.read_folded(self.export("folded"))
        self.assertEqual(sum(ns for _, ns in stacks), total)
        framed = {frame for stack, _ in stacks for frame in stack if frame.startswith("[")}
        self.assertLessEqual({"[sh]", "[sleep]"}, framed)
        self.assertLessEqual(framed, {f"[{process['comm']}]" for process in self.summary()["processes"]})
        self.assertTrue(any(frame.endswith("+?") for stack, _ in stacks for frame in stack), stacks[:5])

    def test_a_real_recording(self):
        self.record(["sh", "-c", COMMAND])
        total, trace = self.summary()["total_ns"], self.trace()
        self.check_stacks(total)
        self.check_folded(total)
        self.check_perfetto(trace)
        self.check_speedscope(trace, total)
        with open(os.path.join(glob.glob(self.out + "/*/main")[0], "exemplars.html"), encoding="utf-8") as page:
            self.assertIn("The longest wait", page.read())
        answer = json.loads(subprocess.run([program("wakepath"), "query", "--store", self.store, "--by", "path", "--format", "json",
                                            "--top", "0"], capture_output=True, check=True, timeout=60).stdout)["releases"][0]
        self.assertEqual((answer["matched_ns"], answer["total_ns"], sum(row["ns"] for row in answer["rows"])), (total,) * 3)


if __name__ == "__main__":
    main()
