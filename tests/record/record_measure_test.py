#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`wakepath measure` and `wakepath bisect` on a small repository whose fifth commit sleeps longer, and whose third cannot be built."""
import json
import os
import shutil
import signal
import subprocess
import time

import recording

SLOW, BROKEN, COMMITS = 5, 3, 7


class Measure(recording.RecordTest):
    def git(self, *words):
        return subprocess.run(["git", "-C", self.path("repo"), "-c", "user.name=A", "-c", "user.email=a@b", *words], check=True,
                              capture_output=True, text=True).stdout.strip()

    def make_repository(self):
        os.mkdir(self.path("repo"))
        self.git("init", "-q", "-b", "main")
        for number in range(COMMITS):
            self.write("repo/bench.sh", f"# {number}\nsleep {0.4 if number >= SLOW else 0.1}\n")
            self.write("repo/build.sh", "echo cannot find -lz; exit 1\n" if number == BROKEN else "cp bench.sh built.sh\n")
            self.git("add", ".")
            self.git("commit", "-q", "-m", f"step {number}")
            self.git("tag", f"r{number}")

    def call(self, command, *flags, want=0, **options):
        done = subprocess.run([recording.program("wakepath"), command, "--git", self.path("repo"), "--build", "sh build.sh", "--out",
                               self.path(command), "--json", *flags, "--", "sh", "built.sh"],
                              env=self.env, capture_output=True, text=True, check=False, timeout=2 * recording.LIMIT_S, **options)
        self.assertEqual(done.returncode, want, done.stderr)
        return json.loads(done.stdout), done.stderr

    def refuse(self, command, *flags):
        done = subprocess.run([recording.program("wakepath"), command, "--git", self.path("repo"), "--build", "sh build.sh", "--out",
                               self.path(command), *flags, "--", "sh", "built.sh"],
                              env=self.env, capture_output=True, text=True, check=False, timeout=recording.LIMIT_S)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def has_recorded(self, log):
        if not os.path.exists(log):
            return False
        with open(log, encoding="ascii") as lines:
            return "sound" in lines.read()

    def interrupt(self, *flags):
        """As call, ended by a signal when the first recording is done; the rest must go on from there."""
        with open(self.path("first"), "w", encoding="utf-8") as said:
            process = subprocess.Popen([recording.program("wakepath"), "bisect", "--git", self.path("repo"), "--build", "sh build.sh",
                                        "--out", self.path("bisect"), "--json", *flags, "--", "sh", "built.sh"],
                                       env=self.env, stdout=subprocess.DEVNULL, stderr=said)
        log = self.path("bisect/log")
        deadline = time.monotonic() + recording.LIMIT_S
        while time.monotonic() < deadline and not self.has_recorded(log):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(recording.LIMIT_S), 1)
        with open(self.path("first"), encoding="utf-8") as said:
            self.assertIn("recordings are done, the same command line goes on", said.read())

    def test_bisect_names_the_commit_and_goes_on_after_an_interruption(self):
        self.make_repository()
        before = self.git("status", "--porcelain"), self.git("for-each-ref"), sorted(os.listdir(self.path("repo/.git")))
        self.interrupt("--good", "r1", "--repeat", "3")
        found, said = self.call("bisect", "--good", "r1", "--repeat", "3")
        self.assertEqual(found["first"]["subject"], f"step {SLOW}")
        self.assertEqual(found["before"]["subject"], f"step {SLOW - 1}")
        self.assertGreater(found["sure"], 0.9)
        self.assertEqual(found["not_measured"], [])
        if "step 3" in said:
            self.assertIn("cannot find -lz", said)
        with open(self.path("bisect/log"), encoding="ascii") as log:
            self.assertEqual(log.read().count("sound"), found["recordings"])  # none of them was made twice
        self.assertEqual((self.git("status", "--porcelain"), self.git("for-each-ref"), sorted(os.listdir(self.path("repo/.git")))), before)

    def test_measure_leaves_out_what_cannot_be_built_and_says_what_got_worse(self):
        self.make_repository()
        result, said = self.call("measure", "r3", "r4", "r5", "--repeat", "3", want=2)
        self.assertIn("r3 is left out: the build ends with 1: cannot find -lz", said)
        self.assertEqual([commit["is_built"] for commit in result["commits"]], [False, True, True])
        last = result["commits"][2]["commands"][0]
        self.assertEqual((last["against"], last["verdict"], len(last["ns"])), ("r4", "worse", 3))
        self.assertGreater(last["median_ns"], result["commits"][1]["commands"][0]["median_ns"] + 200e6)
        self.assertIsNone(result["commits"][0]["commands"][0]["median_ns"])
        # the same command line makes no recording again, and tries again what could not be built
        again, said = self.call("measure", "r3", "r4", "r5", "--repeat", "3", want=2)
        self.assertIn("r3 is left out: the build ends with 1: cannot find -lz", said)
        self.assertEqual(again, result)
        # what cannot be compared is not "not worse"
        shutil.rmtree(self.path("measure/store"))
        self.assertIn("r4:main and r5:main cannot be compared", self.refuse("measure", "r3", "r4", "r5", "--repeat", "3"))

    def test_a_folder_of_others_is_left_as_it_is(self):
        self.make_repository()
        os.makedirs(self.path("measure/run"))
        for content in ("", "a log of mine\nnot ended"):
            self.write("measure/log", content)
            self.assertIn("is not the log of a measurement", self.refuse("measure", "r4"))
            with open(self.path("measure/log"), encoding="ascii") as log:
                self.assertEqual(log.read(), content)
        self.assertEqual(sorted(os.listdir(self.path("measure"))), ["log", "run"])


if __name__ == "__main__":
    recording.main()
