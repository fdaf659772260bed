#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the live source says of births, execs, names and ends of threads: live_lives_test.py FACTS_DUMP FOLDER."""
import ctypes
import subprocess
import sys
import threading
import time
import unittest

from live_facts_test import DEAD, TASK, in_order, of, record


class Lives(unittest.TestCase):
    def test_lives(self):
        def work():
            shell = subprocess.Popen(["/bin/sh", "-c", "true; /bin/sleep 0.02; exit 3"])
            return shell.pid if shell.wait() == 3 else 0
        pid, facts = record(work)
        ordered = in_order(facts)
        self.assertTrue(of(facts, "fork", other_tid=pid))
        execs = of(ordered, "exec", tid=pid)
        self.assertEqual(execs[0]["exe"], "/bin/sh")
        self.assertEqual(execs[0]["cmdline"], "/bin/sh -c true; /bin/sleep 0.02; exit 3")
        child = [f for f in of(ordered, "fork", tid=pid)][0]["other_tid"]
        self.assertEqual(of(ordered, "exec", tid=child)[0]["exe"], "/bin/sleep")
        self.assertEqual(of(ordered, "exec", tid=child)[0]["comm"], "sleep")
        exits = of(ordered, "exit", tid=child)
        last = [f for f in of(ordered, "switch", tid=child)][-1]
        self.assertEqual((len(exits), last["c"]), (1, DEAD))
        self.assertLess(exits[0]["t"], last["t"])
        woken = [f for f in of(ordered, "waking", other_tid=pid) if f["t"] > exits[0]["t"]]
        self.assertEqual((woken[0]["c"], woken[0]["tid"]), (TASK, child), "who waits for a child is woken by it")
        maps = of(ordered, "mapped", pid=child)
        cleared = next(i for i, f in enumerate(maps) if f["clears"])
        self.assertRegex(maps[cleared + 1]["path"], r"/sleep$", "the first file behind an exec is the program")
        self.assertIn("[vdso]", [f.get("path") for f in maps])
        self.assertLess(maps[cleared + 1]["t"], of(ordered, "exec", tid=child)[0]["t"])

    def test_nobody_lives_unseen(self):
        """Programs are attached and detached one by one: a birth without its switches would be a life without an end."""
        spawners = [subprocess.Popen(["/bin/sh", "-c", "while :; do /bin/true; done"]) for _ in range(8)]
        try:
            _, facts = record(lambda: time.sleep(0.05))
        finally:
            for spawner in spawners:
                spawner.kill()
                spawner.wait()
        self.assertEqual(of(facts, "drop"), [])
        seen = {f["tid"] for f in of(facts, "switch")}
        ended = {f["tid"] for f in of(facts, "exit")}
        born = [[f["other_tid"] for f in of(in_order(facts), "fork", tid=spawner.pid)] for spawner in spawners]
        self.assertGreater(sum(map(len, born)), len(spawners))
        unseen = {tid for children in born for tid in children[:-1] if tid not in seen or tid not in ended}
        self.assertEqual(unseen, set(), "each but the last waited for ran, and ended")

    def test_renames(self):
        def work(both=threading.Barrier(2)):
            thread = threading.Thread(target=lambda: (ctypes.CDLL(None).prctl(15, b"own name", 0, 0, 0), both.wait(), both.wait()))
            thread.start()
            both.wait()
            ctypes.CDLL(None).pthread_setname_np(ctypes.c_ulong(thread.ident), b"given name")
            both.wait()
            return thread.native_id
        tid, facts = record(work)
        self.assertEqual([(f["comm"], f["flags"]) for f in of(facts, "rename", tid=tid)], [("own name", 1), ("given name", 0)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2, warnings="ignore")
