#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cannot be written to standard output is no success of any program, and an error is of the command that was typed: full_output_test.py BIN."""
import subprocess, sys, unittest

BIN = sys.argv[1] + "/"
PRINTED = ["wakepath help", "wakepath status --json", "wakepath doctor", "wakepath perf-events", "wakepath record --help", "wakepath-collector --probe",
           "wakepath-collector --output /dev/null --print-config", "wakepath-aggregator --bind ipc:///none --store /none --check-config"]
PROGRAMS = ["wakepath", "wakepath-collector", "wakepath-aggregator", "wakepath-reporter", "wakepath-store"]


class FullOutput(unittest.TestCase):
    def test_a_full_disk_is_a_failure(self):
        for line in PRINTED + [program + option for program in PROGRAMS for option in (" --help", " --version")]:
            with self.subTest(line), open("/dev/full", "wb") as full:
                done = subprocess.run((BIN + line).split(), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, r"(?m)^wakepath[a-z-]*: cannot write ")
                self.assertEqual(done.stderr.count("cannot write"), 1, done.stderr)

    def test_a_closed_one_matters_only_to_who_prints(self):
        for line, status in (("wakepath help >&-", 1), ("wakepath-store ls --no-such-option 2>/dev/null >&-", 64)):
            with self.subTest(line):
                self.assertEqual(subprocess.run(["sh", "-c", BIN + line], stderr=subprocess.DEVNULL, timeout=60, check=False).returncode, status)

    def test_help_and_version_of_all(self):
        for program in ["wakepath help", "wakepath-demo", *PROGRAMS]:
            for option, said in ((" --help", "Usage: wakepath"), (" --usage", "Usage: wakepath"), (" --version", r"wakepath\S* \d+\.")):
                with self.subTest(program + option):
                    done = subprocess.run((BIN + program + option).split(), capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertRegex(done.stdout, said)

    def test_an_error_is_of_the_command(self):
        for line, whose in (("wakepath query", "wakepath query"), ("wakepath log", "wakepath log"), ("wakepath-reporter query", "wakepath-reporter")):
            with self.subTest(line):
                done = subprocess.run((BIN + line + " --store /nonexistent").split(), capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertTrue(done.stderr.startswith(whose + ": error: cannot open store '/nonexistent'"), done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
