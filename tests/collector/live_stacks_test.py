#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""User stacks of code without frame pointers: live_stacks_test.py BIN_DIR FIXTURE."""
import os, re, subprocess, sys, tempfile, unittest

BIN, FIXTURE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


def record(*command, aggregate="comm=stacks_fixture", end="sleep:clock_nanosleep"):
    """The folded stacks that end so (of the command's deliberate sleep): [(frames, ns)]."""
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        subprocess.run([f"{BIN}/wakepath", "record", "--quiet", "--out", f"{folder}/site", "--store", store, "--release", "r",
                        "--aggregate", f"main={aggregate}", "--", *command], check=True, stdout=subprocess.DEVNULL)
        text = subprocess.run([f"{BIN}/wakepath-reporter", "--store", store, "--release", "r", "--aggregate", "main", "--format",
                               "folded"], check=True, capture_output=True, text=True).stdout
    rows = [line.rpartition(" ") for line in text.splitlines()]
    return [(stack.split(";"), int(ns)) for stack, _, ns in rows if re.search(end + "$", stack)]


def share(rows, pattern):
    whole = sum(ns for _, ns in rows)
    return sum(ns for frames, ns in rows if re.search(pattern, ";".join(frames))) / whole


class Stacks(unittest.TestCase):
    """How long it takes until a file's tables are known is the machine's business (half a second and more on a busy one), and
    until then stacks are not whole. So what does not have its share in a short run must have it in one 4, 16 or 64 times as long."""
    def in_time(self, run, count, is_enough):
        for times in (1, 4, 16, 64):
            rows = run(count * times)
            if is_enough(rows):
                return rows
        self.fail(sorted(rows, key=lambda row: -row[1])[:5])

    def test_whole_stacks(self):
        whole = r"^\[stacks_fixture\];_start;.*;main;outer;(qsort_r|qsort);.*compare;middle;inner;"
        self.in_time(lambda n: record(FIXTURE, "deep", str(n)), 40, lambda rows: share(rows, whole) > 0.9)

    def test_ways_of_equal_depth_are_told_apart(self):
        def run(n):
            rows = record(FIXTURE, "paths", str(n))
            for way, other in (("left", "right"), ("right", "left")):
                self.assertEqual(share(rows, rf";{way};.*{other};"), 0)
            return rows
        rows = self.in_time(run, 100, lambda rows: share(rows, r";main;(left|right);middle;inner;") > 0.84)
        for way in ("left", "right"):  # in turns, so half of what is whole each
            self.assertGreater(share(rows, rf";main;{way};middle;inner;"), 0.4)

    def test_brief_processes(self):
        def run(n):
            rows = record("/bin/sh", "-c", f"i=0; while [ $i -lt {n} ]; do {FIXTURE} brief 1; i=$((i+1)); done")
            self.assertGreater(sum(ns for _, ns in rows), n * 1_900_000, "every one of them was seen")
            return rows
        self.in_time(run, 120, lambda rows: share(rows, r"_start;.*;main;middle;inner;") > 0.75)


class Files(unittest.TestCase):
    def test_what_is_written(self):
        with tempfile.TemporaryDirectory(dir=os.path.dirname(FIXTURE)) as folder:
            file = os.path.join(os.path.realpath(folder), "written by dd")
            rows = record("dd", "if=/dev/zero", f"of={file}", "bs=1M", "count=24", "conv=fsync", aggregate="comm=dd",
                          end=r"io:\S+ write [^;]*")
        named = re.sub(r"[0-9]{4,}", "N", file)
        self.assertIn(named, {frames[-1].split(" write ", 1)[1] for frames, _ in rows}, rows)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
