#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath bisect on a machine with other work: recordings of a stand-in, whose figures are known, beside the real program.
bisect_test.py BIN"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = sys.argv[1]
COMMITS, SLOW = 12, 7
PATIENCE_S = 70
OLD_DIGEST = "64f13b63b9b3b8b7"  # of this command, where rows had no time for want of a CPU
# `wakepath record`: the commit's file says how long it takes, in ms, and the stand-in's own how often it was recorded.
STAND_IN = r"""#!/bin/sh
while [ $# -gt 0 ] && [ "$1" != -- ]; do [ "$1" = --out ] && out=$2; shift; done
mkdir -p "$out/store"
read -r step ms early fails waits <took
count=0 total=0
[ ! -e "$WP_COUNTS/$step" ] || read -r count <"$WP_COUNTS/$step"
[ ! -e "$WP_COUNTS/all" ] || read -r total <"$WP_COUNTS/all"
echo $((count + 1)) >"$WP_COUNTS/$step"
echo $((total + 1)) >"$WP_COUNTS/all"
[ "$count" -lt 2 ] && ms=$early
own=$((ms * 1000 + total * 37 % 11 * 400))
[ "$total" -ge "${WP_SLOWER_FROM:-9999}" ] && own=$((own + 40000))
own=$((own + total * 7919 % 1013 * ${WP_DISK:-0}))
cpu=$((total * 7919 % 1009 * WP_LOAD))
printf '{"wall_ns": %d, "categories": {"scheduler": %d, "involuntary": %d}, "command": {"voluntary_switches": %d}}' \
  "$((own + cpu))000" "$((cpu / 3))000" "$((cpu - cpu / 3))000" "$((waits + total % 3))" >"$out/summary.json"
[ "$count" != "$fails" ]
"""


class Bisect(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wp-bisect-test-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(self.folder + "/bin")
        os.mkdir(self.folder + "/counts")
        shutil.copy(BIN + "/wakepath", self.folder + "/bin/real")
        for name, text in (("wakepath", STAND_IN), ("wakepath-store", "#!/bin/sh\n"), ("wakepath-reporter", "#!/bin/sh\n")):
            with open(f"{self.folder}/bin/{name}", "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(f"{self.folder}/bin/{name}", 0o755)

    def git(self, *words):
        subprocess.run(["git", "-C", self.folder + "/repo", "-c", "user.name=A", "-c", "user.email=a@b", *words], check=True, capture_output=True)

    def make_history(self, early, fails=(), more_waits=COMMITS):
        """`early`: what the first two recordings of these commits say instead; the third one of those in `fails` fails. From the commit
        `more_waits` on there are half as many waits again."""
        os.mkdir(self.folder + "/repo")
        self.git("init", "-q", "-b", "main")
        for step in range(COMMITS):
            ms = 130 if step >= SLOW else 100
            with open(self.folder + "/repo/took", "w", encoding="ascii") as file:
                file.write(f"{step} {ms} {early.get(step, ms)} {2 if step in fails else 'never'} {150 if step >= more_waits else 100}\n")
            self.git("add", ".")
            self.git("commit", "-q", "-m", f"step {step}")

    def run_it(self, load, **env):
        return subprocess.run([self.folder + "/bin/real", "bisect", "--git", self.folder + "/repo", "--out", self.folder + "/out", "--quiet", "--json",
                               "--good", f"HEAD~{COMMITS - 1}", "--", "true"], capture_output=True, text=True, check=False, timeout=PATIENCE_S,
                              env={**os.environ, "WP_COUNTS": self.folder + "/counts", "WP_LOAD": str(load), **env})

    def search(self, load, **env):
        done = self.run_it(load, **env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_time_for_want_of_a_cpu_hides_nothing(self):
        """Up to 400 ms of it, where the commit took 30 ms longer."""
        self.make_history({})
        found = self.search(400)
        self.assertEqual((found["first"]["subject"], found["figure"]), (f"step {SLOW}", "without_runnable"))

    def test_a_busy_disk_makes_waits_longer_and_not_more(self):
        """Up to 110 ms, where the commit took 30 ms longer for half as many waits again."""
        self.make_history({}, more_waits=SLOW)
        found = self.search(1, WP_DISK="110")
        self.assertEqual((found["first"]["subject"], found["figure"]), (f"step {SLOW}", "waits"))

    def test_more_waits_that_take_no_longer_are_not_the_answer(self):
        self.make_history({}, more_waits=3)
        found = self.search(1)
        self.assertEqual(found["first"]["subject"], f"step {SLOW}")
        self.assertNotEqual(found["figure"], "waits")

    def test_an_answer_that_rests_on_a_disturbance_is_taken_back(self):
        """Both recordings that a commit was judged by were like the other end: of a fast commit, of a slow one, and of both."""
        for early in ({8: 100}, {5: 130}, {5: 130, 7: 100}):
            with self.subTest(early=early):
                try:
                    self.make_history(early)
                    found = self.search(1)
                    self.assertEqual(found["first"]["subject"], f"step {SLOW}")
                finally:
                    for name in ("repo", "out", "counts"):
                        shutil.rmtree(f"{self.folder}/{name}", ignore_errors=True)
                    os.mkdir(self.folder + "/counts")

    def test_a_machine_that_becomes_slower_while_it_searches(self):
        """By more than the commit takes: those that are judged by the ends as they were first all look slow."""
        self.make_history({})
        found = self.search(1, WP_SLOWER_FROM="10")
        self.assertEqual(found["first"]["subject"], f"step {SLOW}")
        self.assertGreater(found["sure"], 0.9)

    def test_a_command_that_fails_while_its_commit_is_confirmed(self):
        """The commit is passed over as one that never could be recorded."""
        self.make_history({}, [SLOW - 1])
        found = self.search(1)
        self.assertEqual((found["before"]["subject"], found["first"]["subject"]), (f"step {SLOW - 2}", f"step {SLOW}"))
        self.assertEqual([commit["subject"] for commit in found["not_measured"]], [f"step {SLOW - 1}"])

    def test_a_log_of_an_older_version_is_refused(self):
        """Its rows have one figure of the two that the ends are compared by."""
        self.make_history({})
        self.search(1)
        with open(self.folder + "/out/log", "r+", encoding="ascii") as log:
            log.write("wakepath-measure 1 " + OLD_DIGEST)
        done = self.run_it(1)
        self.assertEqual(done.returncode, 1)
        self.assertIn("or of an older version: give another --out", done.stderr)


if __name__ == "__main__":
    if os.geteuid():
        print("skipped: only root may record")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[2:]])
