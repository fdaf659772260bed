#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""versions_live_test.py BIN: today's collector on the live kernel, and what it does not say to an aggregator of an older minor version:
windows to one before 1.2, questions for names to one before 1.4."""
import ctypes, unittest

import versions_test
from versions_test import ACK, BATCH, BYE, HEAD, NAME_ANSWER, NAME_QUESTION, WELCOME, frame, message, numbers

WINDOW = 18
ZSTD = ctypes.CDLL("libzstd.so.1")
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t


def raw_of(body):
    """The message in a frame."""
    if not body[6]:
        return body[HEAD:]
    size = int.from_bytes(body[8:12], "little")
    out = ctypes.create_string_buffer(size)
    assert ZSTD.ZSTD_decompress(out, ctypes.c_size_t(size), body[HEAD:], ctypes.c_size_t(len(body) - HEAD)) == size
    return out.raw


class LiveVersions(versions_test.Programs):
    def said_to(self, minor):
        """Kinds of frames, and kinds of events, that an aggregator of that version hears in three seconds."""
        child, peer = self.collector(None, "--duration", "3", "--window", "200ms every 500ms", "--overhead-limit", "none")
        peer.send(frame(WELCOME, message(f1=1, f2=minor, f3=1, f4=1000)))
        frames, events, acked = set(), set(), 0
        while BYE not in frames:
            flags, body = peer.part()
            if flags & 4:
                continue
            frames.add(body[5])
            if body[5] == BATCH:
                acked += 1
                events |= set(numbers(numbers(raw_of(body)).get(7, b"")).get(2, b""))
                peer.send(frame(ACK, message(f1=acked)))
        self.ended(child, 0)
        return frames, events

    def test_names_and_windows(self):
        for minor in (1, 3, 4):
            with self.subTest(minor=minor):
                frames, events = self.said_to(minor)
                self.assertEqual(NAME_QUESTION in frames, minor >= 4)
                self.assertFalse(NAME_ANSWER in frames and minor < 4)
                self.assertEqual(WINDOW in events, minor >= 2)
                self.assertTrue({1, 2} <= events, "switches and wakings")


if __name__ == "__main__":
    unittest.main(argv=["versions_live_test"], verbosity=2)
