#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison itself: it sees what is right as right, and each kind of wrong as wrong."""
import unittest

from compare import Report, judge

TRUTH = {"total_ns": 100, "chains": {"client": {"cpu": 10}, "client;hop1": {"cpu": 30, "sleep": 50}}}
RIGHT = """[client];main;truth_busy 10
[client];main;read;__schedule;sleep:read;sched:runnable 5
[client];main;read;__schedule;sleep:read;tcp:127.0.0.1:80;[hop1];serve 30
[client];main;read;__schedule;sleep:read;tcp:127.0.0.1:80;[hop1];serve;__schedule;sleep:nanosleep 49
[client];main;read;__schedule;sleep:read;tcp:127.0.0.1:80;[hop1];serve;__schedule;sleep:nanosleep;sched:runnable 1
[client];main;read;__schedule;sleep:read;tcp:127.0.0.1:80 5
[hop1];serve 1000
"""


def wrong(text, truth=None, unaccounted=0):
    truth = truth or TRUTH
    report = Report(text, "client", set(";".join(truth["chains"]).split(";")))
    misattributed, missing, _ = judge(truth, report, unaccounted)
    return misattributed, missing, report.total


class Comparison(unittest.TestCase):
    def test_right(self):
        self.assertEqual(wrong(RIGHT), (0, [], 100))

    def test_a_sleep_called_work(self):
        self.assertEqual(wrong(RIGHT.replace("sleep:nanosleep 49", "work 49").replace("__schedule;work", "work"))[0], 49)

    def test_a_hop_that_is_missing(self):
        self.assertEqual(wrong(RIGHT.replace(";[hop1];", ";")), (80, ["client;hop1"], 100))

    def test_a_hop_that_is_not_there(self):
        self.assertEqual(wrong(RIGHT.replace("[hop1];serve 30", "[hop1];sleep:read;[hop9];serve 30"))[0], 60)

    def test_in_flight_what_was_work(self):
        self.assertEqual(wrong(RIGHT.replace(":80;[hop1];serve 30", ":80 30"))[0], 30)

    def test_unaccounted(self):
        self.assertEqual(wrong(RIGHT, unaccounted=7)[0], 7)

    def test_a_queue(self):
        truth = {"total_ns": 40, "chains": {"client": {"queue": 30}, "client;hop1": {"cpu": 10}}}
        text = "[client];read;sleep:read;tcp:x;[hop1];serve 10\n[client];read;sleep:read;tcp:x;path:[hop1] 30\n"
        self.assertEqual(wrong(text, truth)[0], 0)
        self.assertEqual(wrong(text.replace("path:[hop1] 30", "[hop1];serve 30"), truth)[0], 30)

    def test_work_of_a_kernel_thread_at_the_disk(self):
        truth = {"total_ns": 9, "chains": {"client": {"disk": 9}}}
        self.assertEqual(wrong("[client];f;sleep:fsync;[kworker/u8:1];sleep:kernel;io:vda write 9\n", truth)[0], 0)


if __name__ == "__main__":
    unittest.main()
