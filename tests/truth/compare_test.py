#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison itself: it sees what is right as right, and each kind of wrong as wrong."""
import unittest

from compare import Outcome, Report, judge, outcome_of
from single_requests import Trace, judge_requests
from truth_cases import WAYS
from truth_table import NoOutcome, summary, table

TRUTH = {"total_ns": 100, "chains": {"client": {"cpu": 10}, "client;hop1": {"cpu": 30, "sleep": 49, "runnable": 1}}}
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
    return misattributed + unaccounted, missing, report.total


class Comparison(unittest.TestCase):
    def test_right(self):
        self.assertEqual(wrong(RIGHT), (0, [], 100))

    def test_runnable_called_sleep(self):
        self.assertEqual(wrong(RIGHT.replace(";sched:runnable 1", " 1"))[0], 1)
        self.assertEqual(wrong(RIGHT.replace("sleep:nanosleep;sched:runnable 1", "sched:preempted 1"))[0], 0)

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

    def test_waiting_for_a_cpu_in_a_call_to_the_disk(self):
        truth = {"total_ns": 9, "chains": {"client": {"disk": 9}}}
        self.assertEqual(wrong("[client];f;sleep:fdatasync /var/tmp/#N;[kworker/u8:1];sleep:kernel;sched:runnable 9\n", truth)[0], 0)
        self.assertEqual(wrong("[client];f;sleep:fdatasync /var/tmp/#N;sched:runnable 9\n", truth)[0], 9)
        truth = {"total_ns": 9, "chains": {"client": {"runnable": 9}}}
        self.assertEqual(wrong("[client];f;sleep:fdatasync /var/tmp/#N;sched:runnable 9\n", truth)[0], 0)

    def test_a_waking_that_crosses_to_an_idle_processor(self):
        truth = {"base": "client", "sleeps": 1, "total_ns": 10, "chains": {"client": {"disk": 9, "runnable": 1}}}
        text = "[client];f;sleep:fdatasync x;io:vda write 6\n[client];f;sleep:fdatasync x;sched:runnable;sched:wake-up latency 4\n"
        self.assertEqual(wrong(text, truth)[0], 0)
        self.assertEqual(wrong(text.replace("wake-up latency", "behind [gzip]"), truth)[0], 3)
        self.assertEqual(wrong(text.replace("write 6", "write 4"), truth)[0], 2)  # no more than there is of it beyond the account
        self.assertEqual(wrong(text, {**truth, "sleeps": 0})[0], 3)  # who did not sleep was not woken
        wide = {"base": "client", "sleeps": 1, "total_ns": 99999, "chains": {"client": {"disk": 99000, "runnable": 999}}}
        self.assertEqual(wrong(text.replace(" 6", " 39999").replace(" 4", " 60000"), wide)[0], 9001)  # one crossing takes less

    def test_the_edges_of_a_queue(self):
        truth = {"total_ns": 40, "edge_ns": 3, "chains": {"client": {"queue": 20}, "client;hop1": {"cpu": 10}}}
        text = "[client];read;sleep:read;tcp:x;[hop1];serve 10\n[client];read;sleep:read;tcp:x;path:[hop1] 23\n"
        self.assertEqual(wrong(text, truth)[0], 0)
        self.assertEqual(wrong(text.replace("23", "25"), truth)[0], 2)
        self.assertEqual(wrong(text.replace("23", "20").replace("serve 10", "serve 8"), truth)[0], 2)  # what is known is missing all the same
        self.assertEqual(wrong(text, {**truth, "chains": {"client;hop1": {"cpu": 10}}})[0], 23)  # where no queue is, there is none

    def test_another_path_that_is_none(self):
        truth = {"total_ns": 40, "chains": {"client": {"cpu": 10}}}  # of the rest it is said by nobody whose it is
        text = "[client];main 10\n[client];read;sleep:read;tcp:x 10\n[client];read;sleep:read;path:[hop1] 20\n"
        self.assertEqual(wrong(text, truth)[0], 20)


def outcome(wrong_ns):
    """Of a program of which so many of 1000 ns stand elsewhere."""
    truth = {"total_ns": 1000, "chains": {"client": {"cpu": 1000}}}
    report = Report(f"[client];main {1000 - wrong_ns}\n[client];read;sleep:read {wrong_ns}\n", "client", {"client"})
    return Outcome(truth, report, {"categories": {"unaccounted": 0}, "events": {"dropped": 0}, "limits": [], "uncertain_ns": 0}, 1.0)


class Tables(unittest.TestCase):
    ROWS = {"pipe": {"rt": outcome(7), "ordinary": outcome(7)}, "unix": {"rt": outcome(30), "ordinary": outcome(2)}, "udp": {"ordinary": NoOutcome("why")}}

    def test_summary(self):
        self.assertEqual(summary(self.ROWS, ["rt", "ordinary"])[2:], ["| real-time | 0.5 % | 2 of 2 | `unix` 3.00 % |",
                                                                      "| ordinary | 1 % | 1 of 3 | `udp` no outcome |"])
        self.assertEqual(summary({"unix": {"rt": outcome(2)}}, ["rt"])[2:], ["| real-time | 0.5 % | 0 of 1 | none |"])

    def test_rows(self):
        self.assertEqual(table(self.ROWS, ["rt", "ordinary"], False)[2:], ["| pipe | **0.70 %** | 0.70 % |", "| unix | **3.00 %** | 0.20 % |",
                                                                           "| udp |  | **no outcome** |"])

    def test_a_program_that_fails(self):
        self.assertIsInstance(outcome_of("no such program", WAYS["rt"], None), NoOutcome)


SLEEP = ["[client]", "read", "sleep:read", "tcp:x"]
PLACES = {"queue": SLEEP + ["path:[hop1]"], "cpu": SLEEP + ["[hop1]", "serve"], "run": ["[client]", "main"], "transit": SLEEP,
          "preempted": SLEEP + ["[hop1]", "sched:preempted"],
          "sleep": SLEEP + ["[hop1]", "serve", "sleep:nanosleep"], "woken": SLEEP + ["sched:runnable"]}
REQUEST = {"tid": 7, "sent": 1000, "written": 1020, "done": 1500, "free": 1510, "taken": 1520, "answered": 1900, "back": 1915, "received": 2000, "cpu": 200,
           "preempted": 30, "sleep": 150, "asked": 140}
PIECES = [("run", 20), ("queue", 485), ("transit", 15), ("cpu", 200), ("preempted", 30), ("sleep", 150), ("woken", 60), ("run", 40)]


def trace_of(pieces):
    nodes, rows, at, ids = [], [], 500, {}
    for place, length in pieces:
        node = 0
        for i, frame in enumerate(PLACES[place]):
            key = tuple(PLACES[place][:i + 1])
            if key not in ids:
                ids[key] = len(ids) + 1
                nodes.append({"node": ids[key], "parent": node, "frame": frame})
            node = ids[key]
        rows.append({"path": 0, "node": node, "start_ns": at, "length_ns": length})
        at += length
    return Trace({"nodes": nodes, "paths": [{"path": 0, "thread": 0}], "threads": [{"tid": 7}], "start_ns": 10500,
                  "omitted": 0, "pieces": rows[::-1]}, "client")


def percent(pieces):
    truth = {"real_offset_ns": 10000, "requests": [REQUEST]}
    return judge_requests(truth, trace_of(pieces))[0][0]


def change(place, length, *others):
    return [piece for old in PIECES for piece in ([(place, length), *others] if old[0] == place else [old])]


class Requests(unittest.TestCase):
    def test_right(self):
        self.assertAlmostEqual(percent(PIECES), 0)

    def test_a_queue_called_work(self):
        self.assertAlmostEqual(percent(change("queue", 285, ("cpu", 200))), 19.5)

    def test_runnable_called_sleep(self):
        self.assertEqual(wrong(RIGHT.replace(";sched:runnable 1", " 1"))[0], 1)
        self.assertEqual(wrong(RIGHT.replace("sleep:nanosleep;sched:runnable 1", "sched:preempted 1"))[0], 0)

    def test_a_sleep_called_work(self):
        self.assertAlmostEqual(percent(change("sleep", 50, ("cpu", 100))), 10)

    def test_a_sleep_called_preempted(self):
        self.assertAlmostEqual(percent(change("sleep", 130, ("preempted", 20))), 1)  # ten of it may be

    def test_transit_called_work(self):
        self.assertAlmostEqual(percent(change("woken", 0, ("cpu", 60))), 3.5 - 1.5)  # fifteen of it in the call that answers

    def test_work_in_the_call_that_takes_the_request(self):
        self.assertAlmostEqual(percent(change("transit", 0, ("cpu", 15))), 0)
        self.assertAlmostEqual(percent(change("queue", 385, ("cpu", 100))), 9.5)  # before it was free for it: another's

    def test_time_that_is_missing(self):
        self.assertAlmostEqual(percent(PIECES[:4]), (150 + 30 + 75) / 10)


if __name__ == "__main__":
    unittest.main()
