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
    def test_whole_stacks(self):
        rows = record(FIXTURE, "deep", "40")  # a busy machine learns the file late
        whole = r"^\[stacks_fixture\];_start;.*;main;outer;(qsort_r|qsort);.*compare;middle;inner;"
        self.assertGreater(share(rows, whole), 0.9, rows[:5])

    def test_ways_of_equal_depth_are_told_apart(self):
        rows = record(FIXTURE, "paths", "100")
        for way, other in (("left", "right"), ("right", "left")):
            self.assertGreater(share(rows, rf";main;{way};middle;inner;"), 0.42)
            self.assertEqual(share(rows, rf";{way};.*{other};"), 0)

    def test_brief_processes(self):
        rows = record("/bin/sh", "-c", f"i=0; while [ $i -lt 120 ]; do {FIXTURE} brief 1; i=$((i+1)); done")
        self.assertGreater(sum(ns for _, ns in rows), 120 * 1_900_000, "every one of them was seen")
        self.assertGreater(share(rows, r"_start;.*;main;middle;inner;"), 0.75)


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
