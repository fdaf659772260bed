#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison itself: it sees what is right as right, and each kind of wrong as wrong."""
import unittest

from compare import Outcome, Report, judge, outcome_of
from single_requests import Trace, judge_requests
from truth_cases import WAYS
from truth_table import NoOutcome, replaced, summary, table

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
        self.assertEqual(wrong("[client];f;sleep:fdatasync /var/tmp/#N;sched:runnable 9\n", {**truth, "calls": {"client": {"disk": 1}}})[0], 0)
        long = {"total_ns": 90000, "chains": {"client": {"disk": 90000}}, "calls": {"client": {"disk": 1}}}
        self.assertEqual(wrong("[client];f;sleep:fdatasync /var/tmp/#N;sched:runnable 90000\n", long)[0], 40000)  # its waking takes no longer
        truth = {"total_ns": 9, "chains": {"client": {"runnable": 9}}}
        self.assertEqual(wrong("[client];f;sleep:fdatasync /var/tmp/#N;sched:runnable 9\n", truth)[0], 0)

    def test_longer_asleep_than_asked_for(self):
        truth = {"total_ns": 12, "chains": {"client": {"sleep": 8, "overslept": 3, "runnable": 1}}}
        text = "[client];f;sleep:nanosleep 9\n[client];f;sleep:nanosleep;sched:runnable;sched:wake-up latency 3\n"
        self.assertEqual(wrong(text, truth)[0], 0)
        self.assertEqual(wrong(text.replace("wake-up latency", "behind [gzip]"), truth)[0], 0)  # in the way of its waking, on the CPU that it was woken to
        self.assertEqual(wrong(text.replace("runnable;sched:wake-up latency", "preempted;sched:behind [gzip]"), truth)[0], 2)
        self.assertEqual(wrong(text.replace("nanosleep 9", "nanosleep 7"), truth)[0], 2)  # of what it had asked for nothing may be missing

    def test_a_clock_that_begins_before_the_run(self):
        truth = {"total_ns": 10, "chains": {"client": {"cpu": 5, "waking": 3, "runnable": 2}}, "calls": {"client": {"waking": 1}}}
        text = "[client];f 6\n[client];f;sleep:read;sched:runnable;sched:wake-up latency 4\n"
        self.assertEqual(wrong(text, truth)[0], 0)
        self.assertEqual(wrong(text.replace("wake-up latency", "behind [gzip]"), truth)[0], 0)  # it was woken in that one's place, which was in the kernel
        self.assertEqual(wrong(text.replace("runnable;sched:wake-up latency", "preempted;sched:behind [gzip]"), truth)[0], 2)
        self.assertEqual(wrong(text.replace("f 6", "f 4"), truth)[0], 2)

    def test_a_waking_that_crosses_to_an_idle_processor(self):
        truth = {"total_ns": 99999, "chains": {"client": {"cpu": 9, "waking": 90000}}, "calls": {"client": {"waking": 1}}}
        text = "[client];f 10009\n[client];f;sleep:read;sched:runnable;sched:wake-up latency 80000\n"
        self.assertEqual(wrong(text, truth)[0], 30000)  # one crossing takes less
        self.assertEqual(wrong(text, {**truth, "calls": {"client": {"waking": 2}}})[0], 0)
        self.assertEqual(wrong(text, {**truth, "calls": {}})[0], 80000)  # who did not sleep was not woken
        truth = {"total_ns": 99999, "chains": {"client": {}, "client;hop1": {"cpu": 9, "answering": 90000}}, "calls": {"client;hop1": {"answering": 1}}}
        text = "[client];read;sleep:read;tcp:x;[hop1];serve 9\n[client];read;sleep:read;sched:runnable;sched:wake-up latency 90000\n"
        self.assertEqual(wrong(text, truth)[0], 40000)
        self.assertEqual(wrong(text, {**truth, "calls": {"client;hop1": {"answering": 2}}})[0], 0)

    def test_the_call_that_answers(self):
        """Where it goes on as the other one has been woken it is that one's way to a processor, and nothing else."""
        truth = {"total_ns": 20, "chains": {"client": {"runnable": 1}, "client;hop1": {"cpu": 10, "answering": 4}}, "calls": {"client;hop1": {"answering": 1}}}
        text = "[client];read;sleep:read;tcp:x;[hop1];serve 12\n[client];read;sleep:read;sched:runnable;sched:wake-up latency 8\n"
        self.assertEqual(wrong(text, truth)[0], 0)
        self.assertEqual(wrong(text.replace("latency 8", "latency 2"), truth)[0], 1)
        for elsewhere, ns in ("tcp:x;path:[hop1]", 8), ("sched:runnable;sched:behind [gzip]", 0), ("sched:preempted;sched:behind [gzip]", 2), ("tcp:x", 3):
            self.assertEqual(wrong(text.replace("sched:runnable;sched:wake-up latency", elsewhere), truth)[0], ns)
        self.assertEqual(wrong(text.replace("serve 12", "serve 7"), truth)[0], 3)  # the work before it may not be called so
        self.assertEqual(wrong(text.replace("[hop1];serve 12", "[hop1];sched:wake-up latency 12"), truth)[0], 10)  # nor its own way

    def test_the_call_that_answers_another_one(self):
        truth = {"total_ns": 40, "chains": {"client": {"queue": 20}, "client;hop1": {"cpu": 10, "answering_others": 3}}}
        text = "[client];read;sleep:read;tcp:x;[hop1];serve 11\n[client];read;sleep:read;tcp:x;path:[hop1] 22\n"
        self.assertEqual(wrong(text, truth)[0], 0)
        self.assertEqual(wrong(text.replace("22", "25"), truth)[0], 2)
        self.assertEqual(wrong(text.replace("22", "20").replace("serve 11", "serve 10"), truth)[0], 3)
        self.assertEqual(wrong(text, {**truth, "chains": {"client;hop1": {"cpu": 10}}})[0], 22)  # where no queue is, there is none

    def test_the_call_that_takes_a_request(self):
        truth = {"total_ns": 40, "chains": {"client": {"queue": 20}, "client;hop1": {"cpu": 10, "taking": 3}}}
        text = "[client];read;sleep:read;tcp:x;[hop1];serve 11\n[client];read;sleep:read;tcp:x;path:[hop1] 22\n"
        self.assertEqual(wrong(text, truth)[0], 0)
        self.assertEqual(wrong(text.replace("path:[hop1] 22", "path:[hop1] 25"), truth)[0], 2)
        self.assertEqual(wrong(text.replace("22", "21"), truth)[0], 1)

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
        self.assertEqual(table(self.ROWS, ["rt", "ordinary"])[2:], ["| pipe | **0.70 %** | 0.70 % |", "| unix | **3.00 %** | 0.20 % |",
                                                                           "| udp |  | **no outcome** |"])

    def test_they_take_the_place_of_those_in_a_page(self):
        page = "Text.\n\n| way | target |\n| --- | --- |\n| old | 1 |\n\n| program | x |\n| --- | --- |\n| old | 2 |\n"
        lines = table(self.ROWS, ["rt"])
        self.assertEqual(replaced(page, lines), page[:page.index("| program")] + "\n".join(lines) + "\n")
        self.assertEqual(replaced(replaced(page, lines), lines), replaced(page, lines))
        self.assertIn("\n\n| program | x |", replaced(page, summary(self.ROWS, ["rt"])))

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
