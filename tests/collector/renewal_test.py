#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recording whose dictionary grows beyond a session's bound is delivered as several: as many events arrive as when it is one, also when the
collector is killed as the next one begins. renewal_test.py BIN"""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

BIN = sys.argv[1]
GOES_ON = "the session continues in a new one"
LIMIT = ("--session-limit", "64K")


class Renewal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="wakepath-renewal-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = cls.folder.name
        cls.capture = cls.path + "/capture"
        subprocess.run([BIN + "/long_capture", cls.capture, "3000"], check=True)

    def aggregator(self, name, *options):
        down, up = os.pipe()
        process = subprocess.Popen([BIN + "/wakepath-aggregator", "--no-config", "--bind", "ipc://%s/%s.s" % (self.path, name), "--store",
                                    "%s/%s" % (self.path, name), "--aggregate", "main=comm=web", "--exit-after-sessions", "1", "--log-level",
                                    "error", "--ready-fd", str(up), *options], pass_fds=[up])
        os.close(up)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertTrue(os.read(down, 6))
        os.close(down)
        return process

    def collector(self, name, *options):
        with open("%s/%s.log" % (self.path, name), "ab") as log:
            return subprocess.Popen([BIN + "/wakepath-collector", "--no-config", "--source", "capture:" + self.capture, "--connect",
                                     "ipc://%s/%s.s" % (self.path, name), *options], stderr=log)

    def log(self, name):
        with open("%s/%s.log" % (self.path, name), encoding="utf-8") as log:
            return log.read()

    @staticmethod
    def sessions(spool):
        return [name for name in os.listdir(spool) if len(name) == 36]

    def head(self, name):
        text = subprocess.run([BIN + "/wakepath-store", "cat", "%s/%s" % (self.path, name), "unversioned:main", "--json"],
                              capture_output=True, text=True, check=True).stdout
        return json.loads(text)["head"]

    def play(self, name, *options):
        daemon = self.aggregator(name)
        self.assertEqual(self.collector(name, *options).wait(120), 0)
        self.assertEqual(daemon.wait(60), 0)
        return self.head(name)

    def test_all_events_arrive_in_several_sessions(self):
        whole, parts = self.play("whole"), self.play("parts", *LIMIT)
        self.assertNotIn(GOES_ON, self.log("whole"))
        self.assertGreater(self.log("parts").count(GOES_ON), 1)
        self.assertEqual((parts["events"], parts["dropped"]), (whole["events"], 0))

    def test_all_events_arrive_when_it_is_killed_as_the_next_begins(self):
        whole, spool = self.play("once"), ("--spool", self.path + "/spool")
        daemon = self.aggregator("killed")
        for times in (1, 2, 3):
            child = self.collector("killed", *LIMIT, *spool, "--replay-speed", "recorded")
            deadline = time.monotonic() + 60
            while self.log("killed").count(GOES_ON) < times and child.poll() is None and time.monotonic() < deadline:
                time.sleep(0.001)
            child.kill()
            child.wait()
            self.assertGreaterEqual(self.log("killed").count(GOES_ON), times)
        self.assertEqual(self.collector("killed", *LIMIT, *spool).wait(120), 0)
        self.assertEqual(daemon.wait(60), 0)
        killed = self.head("killed")
        self.assertEqual((killed["events"], killed["dropped"]), (whole["events"], 0))

    def test_all_events_arrive_when_the_aggregator_sheds_the_session(self):
        self.capture = self.path + "/large"
        subprocess.run([BIN + "/long_capture", self.capture, "20000"], check=True)
        whole, spool = self.play("all"), self.path + "/rest"
        daemon = self.aggregator("shed", "--host-memory", "4")
        deadline = time.monotonic() + 90
        while daemon.poll() is None and time.monotonic() < deadline:
            self.assertEqual(self.collector("shed", "--spool", spool).wait(120), 0)
            if not self.sessions(spool):
                break
        self.assertEqual(daemon.wait(60), 0)
        if self.sessions(spool):  # it was gone before the collector heard of the end: another one knows what it had
            daemon = self.aggregator("shed")
            self.assertEqual(self.collector("shed", "--spool", spool).wait(120), 0)
            daemon.terminate()
            self.assertEqual(daemon.wait(60), 0)
        self.assertIn("an earlier session in the spool " + GOES_ON.removeprefix("the session "), self.log("shed"))
        shed = self.head("shed")
        self.assertEqual((shed["events"], shed["dropped"]), (whole["events"], 0), self.log("shed"))
        self.assertEqual(self.sessions(spool), [])

        daemon = self.aggregator("memory", "--host-memory", "4")  # without a spool
        self.assertEqual(self.collector("memory", "--spool", "none").wait(120), 0)
        self.assertEqual(daemon.wait(60), 0)
        self.assertIn("is sent in a new one", self.log("memory"))
        memory = self.head("memory")
        self.assertEqual((memory["events"], memory["dropped"]), (whole["events"], 0), self.log("memory"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
