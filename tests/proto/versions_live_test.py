#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""versions_live_test.py BIN FIXTURE: today's collector on the live kernel, and what it does not say to an aggregator of an older minor
version: pauses to one before 1.2, questions for names to one before 1.4. Each session lasts until the collector has done what it would
have spoken of: nothing here waits for a time."""
import os, subprocess, sys, unittest

FIXTURE = os.path.abspath(sys.argv.pop(2)) if len(sys.argv) > 2 else ""
import versions_test
from versions_test import (ACK, BATCH, BYE, EVENTS, HELLO, NAME_ANSWER, NAME_QUESTION, TIME_PROBE, TIME_REPLY, WELCOME, WINDOW, frame, message, numbers,
                           raw_of)

EVENTS_OF_1_1 = set(range(1, 18))
PAUSED = 1          # why something was left out
DROPS = 25
NAMED = b"\x72\x05inner"  # field 14, a string: a function of FIXTURE, which the collector reads from its file


class Heard:
    """What an aggregator hears of a collector."""

    def __init__(self):
        self.frames, self.events, self.batches, self.is_named, self.pauses = set(), set(), 0, False, 0

    def batch(self, raw):
        fields = numbers(raw)
        self.batches = fields[2]
        self.events |= set(numbers(fields.get(EVENTS, b"")).get(2, b""))
        self.is_named |= NAMED in raw
        self.pauses += DROPS in fields and numbers(fields[DROPS]).get(6) == PAUSED


class LiveVersions(versions_test.Programs):
    def listen(self, minor, heard, until):
        """Acknowledges until it has heard that, or all."""
        while BYE not in heard.frames and not until(heard):
            try:
                flags, body = self.peer.part()
            except (EOFError, ConnectionError): # it connects anew where nothing was heard for 20 seconds; or it is gone
                if self.children[-1].poll() is not None:
                    self.fail(f"the collector ended with {self.children[-1].returncode}: {self.children[-1].stderr.read()}")
                self.sockets.append(self.listener.accept()[0])
                self.peer = versions_test.Peer(self.sockets[-1], b"ROUTER")
                continue
            if flags & 4:
                continue
            heard.frames.add(body[5])
            if body[5] == HELLO: # on a machine that stood still for ten seconds
                self.peer.send(frame(WELCOME, message(f1=1, f2=minor, f3=heard.batches + 1, f4=1000)))
                self.peer.send(frame(TIME_PROBE, message(f1=1)))
            if body[5] == BATCH:
                heard.batch(raw_of(body))
                self.peer.send(frame(ACK, message(f1=heard.batches)))
        return heard

    def said_to(self, minor, until, *words):
        sleeper = subprocess.Popen([FIXTURE, "paths", "1000000"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        down, up = os.pipe()
        child, self.peer = self.collector(None, "--ready-fd", str(up), *words, pass_fds=[up])
        os.close(up)
        self.peer.send(frame(WELCOME, message(f1=1, f2=minor, f3=1, f4=1000)))
        self.assertTrue(os.read(down, 6), "it records when it knows who listens")
        os.close(down)
        self.peer.send(frame(TIME_PROBE, message(f1=1)))
        heard = self.listen(minor, Heard(), until)
        self.assertNotIn(BYE, heard.frames)
        child.terminate()
        self.listen(minor, heard, lambda heard: False)
        self.ended(child, 0)
        self.assertTrue({1, 2} <= heard.events, "switches and wakings")
        return heard

    def test_names_and_windows(self):
        def until(minor):
            def so(heard):
                """Its own names have come; and what may be said was."""
                return heard.is_named and heard.batches > 20 and TIME_REPLY in heard.frames and \
                    (minor < 2 or WINDOW in heard.events) and (minor < 4 or NAME_QUESTION in heard.frames)
            return so
        for minor in (1, 3, 4):
            with self.subTest(minor=minor):
                heard = self.said_to(minor, until(minor), "--window", "200ms every 500ms", "--overhead-limit", "none")
                self.assertEqual(NAME_QUESTION in heard.frames, minor >= 4)
                self.assertLessEqual(heard.frames, {HELLO, BATCH, BYE, TIME_REPLY} | ({NAME_QUESTION, NAME_ANSWER} if minor >= 4 else set()))
                self.assertEqual(WINDOW in heard.events, minor >= 2)
                self.assertLessEqual(heard.events - {WINDOW}, EVENTS_OF_1_1)

    def test_pauses_of_the_overhead_limit(self):
        """It pauses whether the aggregator knows pauses or not: one that does not hears of missing time."""
        for minor in (1, 2):
            with self.subTest(minor=minor):
                heard = self.said_to(minor, lambda heard, minor=minor: heard.pauses > 2 and (minor < 2 or WINDOW in heard.events), "--overhead-limit", "0.01")
                self.assertEqual(WINDOW in heard.events, minor >= 2)


if __name__ == "__main__":
    unittest.main(argv=["versions_live_test"], verbosity=2)
