#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whose timer ended a sleep of an event loop of asyncio, against what the program itself did next: live_asyncio_timers_test.py FACTS_DUMP ""
CACHE_DIR. The CPythons from 3.11 on that live_languages_test.py and live_releases_test.py have."""
import bisect, glob, os, re, shutil, subprocess, sys, tempfile, unittest

import live_languages_test as languages
import live_node_timers_test as node_timers
import live_releases_test as releases

FIXTURE = f"{languages.FOLDER}/asyncio_timers_fixture.py"


def programs(folder):
    """{name: (command, folder of the file as the program calls it)}"""
    found = {}
    for path in [sys.executable, "/usr/bin/python3", *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))]:
        said = languages.version_of([path, "--version"])
        if re.match(r"Python 3\.1[1-4]\.", said):
            found[said + (" of the system" if path.startswith("/usr") else "")] = ([path, FIXTURE], folder)
    try:
        root = releases.debian_root.unpacked("sid", releases.PACKAGES["sid"], languages.CACHE)
        command = releases.command_of(root, "bin/python3.14", [f"/mnt/{os.path.basename(FIXTURE)}"])
    except releases.debian_root.Missing: # as live_releases_test.py says
        command = None
    if command:
        shutil.copy(FIXTURE, folder)
        found["Python 3.14"] = (releases.debian_root.command(root, folder, command), "/mnt")
    return found


def task_part(frames):
    """Of the frames of a stack those of the task."""
    names = [frame[0] for frame in frames]
    ends = [i for i, name in enumerate(names) if name.startswith("task ")]
    return names[:ends[0] + 1] if ends else names


def next_told(own, at):
    """The next that went on. A function that a timer calls does not wait for the turn of the loop that a task waits for: one that is due
    at the same moment comes first."""
    first = own[at]
    while at + 1 < len(own) and not own[at][1] and own[at + 1][0] - first[0] < 3_000_000:
        at += 1
    return own[at][1]


class Timers(unittest.TestCase):
    def compare(self, name, rows, facts):
        """Of sleeps behind the first that is told, by those behind which a timer's own followed before the next one."""
        right, wrong, untold = 0, [], 0
        for tid in sorted({row[0] for row in rows}):
            own = sorted((row[1], row[2]) for row in rows if row[0] == tid)
            times = [time for time, _ in own]
            waits, left = node_timers.waits_of(facts, tid)
            for moment, frames in waits:
                at = bisect.bisect(times, moment)
                if node_timers.after(times, moment) > node_timers.after(left, moment):
                    continue
                wanted = next_told(own, at)
                if frames and task_part(frames) == wanted:
                    right += 1
                elif frames:
                    wrong.append((wanted, frames))
                else:
                    untold += right > 0 and bool(own[at][1])
        print(f"{name}: {right} right, {len(wrong)} wrong, {untold} not told", file=sys.stderr)
        self.assertGreater(right, languages.ENOUGH)
        self.assertLessEqual(len(wrong), right / 100, wrong[:3])
        self.assertLessEqual(untold, right / 10)

    def test_timers(self):
        with tempfile.TemporaryDirectory() as folder:
            found = programs(folder)

            def work():
                for name, (command, place) in found.items():
                    subprocess.run([*command, "5", f"{place}/{name}"], check=True)
            _, facts = languages.record(work)
            print("walks:", facts[-1], file=sys.stderr)
            for name in found:
                with self.subTest(name):
                    self.compare(name, languages.rows_of(f"{folder}/{name}"), facts)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
