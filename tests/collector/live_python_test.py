#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of Python programs against what the programs themselves say: live_python_test.py FACTS_DUMP. Every CPython of 3.9 to 3.13
that the machine has: /usr/bin/python3 and those of pyenv(1)."""
import glob, json, os, re, subprocess, sys, tempfile, unittest

from live_facts_test import record

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_fixture.py")
SLEEPS = (230, 270)  # clock_nanosleep; pselect6 up to 3.10
KNOWN = re.compile(r"^3\.(9|1[0-3])\.")


def pythons():
    """{version: program}"""
    found = {}
    for path in [sys.executable, "/usr/bin/python3", *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))]:
        said = os.path.exists(path) and subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.split()
        if said and KNOWN.match(said[-1]):
            found[said[-1] + (" of the system" if path.startswith("/usr") else "")] = path
    return found


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def sleeps_of(facts):
    """{thread: [(time, frames)]} of sleeps on purpose; a stack's frames come with its first record."""
    stacks, sleeps = {}, {}
    for fact in facts:
        if "frames" in fact:
            stacks[fact["stack_key"]] = fact["frames"]
        if fact["kind"] == "switch" and fact["d"] - 1 in SLEEPS and fact["c"] == 1:
            sleeps.setdefault(fact["tid"], []).append((fact["t"], stacks.get(fact["stack_key"], [])))
    return sleeps


def is_right(frames, expected):
    """The language's frames are the program's own, the C library's stand on them, and no call of the interpreter was left."""
    return [f for f in frames if isinstance(f, list)] == expected and isinstance(frames[0], int) and 0 not in frames


class Pythons(unittest.TestCase):
    def compare(self, version, rows, sleeps):
        """From the first that is right on: until then the tables of the program's files are being read."""
        right, wrong = 0, []
        for tid, before, after, expected in sorted(rows, key=lambda row: row[1]):
            met = [frames for t, frames in sleeps.get(tid, []) if before <= t <= after]
            is_met = any(is_right(frames, expected) for frames in met)
            right += is_met
            if right and met and not is_met:
                wrong.append((expected, met))
        share = right / max(1, right + len(wrong))
        print(f"python {version}: {right} of {right + len(wrong)} sleeps after the first, {100 * share:.2f} %; {len(rows)} in all",
              file=sys.stderr)
        self.assertGreater(right, len(rows) / 3)
        self.assertGreaterEqual(share, 0.99, wrong[:3])

    def test_stacks(self):
        with tempfile.TemporaryDirectory() as folder:
            def work():
                for version, path in programs.items():
                    subprocess.run([path, "-W", "ignore", FIXTURE, "3", f"{folder}/{version}"], check=True)
            programs = pythons()
            _, facts = record(work)
            sleeps = sleeps_of(facts)
            print("walks:", facts[-1], file=sys.stderr)
            for version in programs:
                with self.subTest(version):
                    self.compare(version, rows_of(f"{folder}/{version}"), sleeps)
                    self.compare(version + ", its child", rows_of(f"{folder}/{version}.child"), sleeps)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
