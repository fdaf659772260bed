#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whose timer ended the sleep of HotSpot's thread for them, against what the virtual threads say of their waits:
live_virtual_timers_test.py FACTS_DUMP "" CACHE_DIR. Java 21 and 25 of Debian 13, as live_languages_test.py."""
import os, shutil, subprocess, sys, tempfile, unittest

import live_languages_test as languages

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import debian_root

SECONDS = 6
SET = 50000  # ns between a look at the clock and another one, of the timer
LATE = 200000000  # so long after its time a timer that was given up may still wake the thread (Java 21)
BY_TIMER = 2
LIMITS = ", time limits"
SLEEPERS = {"task " + name for name in ("VirtualTimersFixture.lambda$until$0", "beat", "turn-N")}
WITH_LIMITS = SLEEPERS | {"task answerer"}
WAITERS = {"task " + name for name in ("asker", "parker", "poller N", "waiter")}


def commands(folder):
    """{name: command}; the folder is /mnt there."""
    root = languages.fetch_javas()
    for name in ("JavaFixture", "VirtualTimersFixture"):
        shutil.copy(f"{languages.FOLDER}/{name}.java", folder)
    compiler = ["/usr/lib/jvm/java-21-openjdk-amd64/bin/javac", "-cp", "/mnt", "-d", "/mnt", "/mnt/VirtualTimersFixture.java"]
    subprocess.run(debian_root.command(root, folder, compiler), check=True)
    shown = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames", "-Xmx48m", "-cp", "/mnt", "VirtualTimersFixture", str(SECONDS)]
    found = {}
    for version in languages.JAVAS:
        java = [f"/usr/lib/jvm/java-{version}-openjdk-amd64/bin/java", *shown]
        found[version] = debian_root.command(root, folder, [*java, f"/mnt/{version}"])
        found[version + LIMITS] = debian_root.command(root, folder, [*java, f"/mnt/{version}{LIMITS}", "limits"])
    return found


def is_virtual(frames):
    return any(frame[0] == "java.lang.VirtualThread.run" for frame in frames)


def waits_of(facts):
    """{thread: [(time, frames)]} of threads that a timer woke, no frames where the sleep's own stack stands."""
    stacks, waits = {}, {}
    for fact in facts:
        if "frames" in fact and fact["stack_key"]:
            stacks[fact["stack_key"]] = fact["frames"]
        if fact["kind"] == "waking" and fact["c"] == BY_TIMER:
            frames = stacks.get(fact.get("stack_key"), [])
            waits.setdefault(fact["other_tid"], []).append((fact["t"], [frame for frame in frames if isinstance(frame, list)]))
    return {tid: rows for tid, rows in waits.items() if any(frames and is_virtual(frames) for _, frames in rows)}


class Timers(unittest.TestCase):
    def compare(self, name, rows, waits):
        """A wait that is told: of a virtual thread that stood there then, whose time was up. Java 21 sets a timer before the virtual
        thread leaves its carrier: when its thread for them sleeps before that, nothing is told."""
        right, wrong, early, untold = set(), [], 0, 0
        begin, end = min(row[0] for row in rows), max(row[2] for row in rows)
        for moment, frames in sorted(wait for ours in waits.values() for wait in ours):
            if not begin <= moment <= end:
                continue
            due = [(i, row) for i, row in enumerate(rows) if row[0] <= moment and row[1] - SET <= moment and frames[-len(row[3]):] == row[3]]
            if not frames:
                untold += bool(right)
            elif any(moment <= row[2] for _, row in due):
                right.update(i for i, row in due if moment <= row[2])
            elif any(row[2] < row[1] and moment < row[1] + LATE for _, row in due):
                early += 1
            else:
                wrong.append((moment, frames))
        kinds = {rows[i][3][-1][0] for i in right}
        print(f"Java {name}: {len(right)} right, {len(wrong)} wrong, {early} given up, {untold} not told; {sorted(kinds)}", file=sys.stderr)
        self.assertGreater(len(right), languages.ENOUGH)
        self.assertLessEqual(len(wrong) + early, len(right) / 100, wrong[:3])
        self.assertEqual(kinds, (WITH_LIMITS if name.endswith(LIMITS) else SLEEPERS) | (WAITERS if name == "25" + LIMITS else set()))
        if name != "21" + LIMITS:
            self.assertLessEqual(untold, len(right) / 4)

    def test_timers(self):
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = commands(folder)
            except debian_root.Missing as why:
                self.skipTest(" ".join(str(why).replace("'", "").split()))

            def work():
                for command in found.values():
                    subprocess.run(command, check=True)
            _, facts = languages.record(work)
            waits = waits_of(facts)
            print("walks:", facts[-1], file=sys.stderr)
            for name in found:
                with self.subTest(name):
                    self.compare(name, languages.rows_of(f"{folder}/{name}"), waits)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
