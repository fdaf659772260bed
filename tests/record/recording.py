# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: one recording in a folder of its own, and what came of it."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

CATEGORIES = ("understood_functions blocking_io running_not_sampled message_in_flight io_queue scheduler "
              "remote_not_traced deliberate_sleep hardware_wait involuntary kernel_block timeout other_path "
              "unaccounted").split()
LIMIT_S = 120


def program(name):
    return os.path.join(os.environ["WAKEPATH_BIN"], name)


class RecordTest(unittest.TestCase):
    """A fresh folder on a real disk a test; nothing of a recording may be left outside its report and store."""
    before = ()  # what it is run by

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wakepath-test-", dir="/var/tmp")
        self.out = os.path.join(self.folder, "out")
        self.store = os.path.join(self.out, "store")
        self.tmp = os.path.join(self.folder, "tmp")
        os.mkdir(self.tmp)
        self.env = dict(os.environ, TMPDIR=self.tmp, LC_ALL="C")

    def tearDown(self):
        try:
            left = [name for name in os.listdir(self.tmp) if name.startswith("wakepath-")]
            self.assertEqual(left, [], "private folders were left behind")
            self.assertEqual(self.parts(), [], "parts of a recording were left running")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def parts(self):
        """Command lines of this test's collectors and aggregators that still run."""
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    line = file.read().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if self.tmp in line and "wakepath-" in line.split(" ")[0]:
                found.append(line)
        return found

    def is_recording(self):
        """A collector of this test has begun to attach its programs."""
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    line = file.read().replace(b"\0", b" ").decode(errors="replace")
                if self.tmp not in line or "wakepath-collector" not in line.split(" ")[0]:
                    continue
                folder = os.path.dirname(path) + "/fd"
                if any("bpf_link" in os.readlink(f"{folder}/{fd}") or "perf_event" in os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)):
                    return True
            except OSError:
                continue
        return False

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def arguments(self, command, *flags):
        line = [*self.before, program("wakepath"), "record", "--out", self.out, *flags]
        return line + ["--", *command] if command else line

    def start(self, command, *flags, **options):
        """A recording that runs; its standard files are files, so that nobody who inherits them can hold us up."""
        with open(self.path("stdout"), "wb") as out, open(self.path("stderr"), "wb") as err:
            return subprocess.Popen(self.arguments(command, *flags),
                                    **{"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err, "env": self.env,
                                       "cwd": self.folder, **options})

    def record(self, command, *flags, want=0, **options):
        process = self.start(command, *flags, **options)
        code = process.wait(LIMIT_S)
        self.assertEqual(code, want, f"exit status of {command}: {self.stderr()}")
        return code

    def stderr(self):
        with open(self.path("stderr"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def stdout(self):
        with open(self.path("stdout"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def summary(self):
        with open(os.path.join(self.out, "summary.json"), encoding="utf-8") as file:
            return json.load(file)

    def report(self, *flags, store=None):
        """Standard output of the reporter."""
        return subprocess.run([program("wakepath-reporter"), "--store", store or self.store, *flags], env=self.env,
                              capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout

    def folded(self, release):
        """(frames, nanoseconds) of each pseudo-stack."""
        rows = []
        for line in self.report("--release", release, "--aggregate", "main", "--format", "folded").splitlines():
            stack, _, amount = line.rpartition(" ")
            rows.append((stack.split(";"), int(amount)))
        return rows

    def assert_no_page(self):
        self.assertFalse(os.path.exists(os.path.join(self.out, "index.html")), "a page was made")

    def assert_sound(self, summary, percent=95.0):
        """What holds for every report, whatever was recorded."""
        self.assertEqual(summary["schema"], 1)
        self.assertEqual(sorted(summary["categories"]), sorted(CATEGORIES))
        self.assertEqual(sum(summary["categories"].values()), summary["total_ns"])
        self.assertGreater(summary["wall_ns"], 0)
        self.assertLessEqual(summary["wall_ns"], summary["total_ns"] * 1.0001)
        self.assertGreater(summary["events"]["total"], 100)
        unexplained = summary["unexplained"] if "unexplained" in summary else []
        self.assertGreaterEqual(summary["accounted_percent"], percent,
                                f"{summary['categories']}\n{json.dumps(unexplained, indent=1)[:3000]}")
        rows = self.folded(summary["release"])
        self.assertTrue(rows and all(frames[0].startswith("[") and ns >= 0 for frames, ns in rows))
        self.assertAlmostEqual(sum(ns for _, ns in rows), summary["total_ns"], delta=summary["total_ns"] * 0.001)
        return rows

    def assert_processes(self, summary, *comms):
        seen = {row["comm"] for row in summary["processes"]}
        self.assertEqual(set(comms) - seen, set(), f"not among the processes: {sorted(seen)}")


def wait_for(what, is_so, limit_s=60):
    """Polls a fact about another process; there is no descriptor to wait on."""
    end = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(f"waited {limit_s} s in vain for: {what}")
        time.sleep(0.02)


def main():
    unittest.main(argv=[sys.argv[0], "-v"] + sys.argv[1:])
