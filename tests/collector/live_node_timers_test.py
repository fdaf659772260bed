#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whose timer ended a sleep of Node.js, against what the program itself did next: live_node_timers_test.py FACTS_DUMP "" CACHE_DIR. The
machine's Node.js and those of npm's registry, as live_languages_test.py."""
import bisect, os, re, subprocess, sys, tempfile, unittest

import live_languages_test as languages

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import npm_package

FIXTURE = f"{languages.FOLDER}/node_timers_fixture.js"
CALLBACKS = ("again", "beats")  # nobody awaits them: they are no tasks


def programs(folder):
    """{name: program}"""
    said = languages.version_of(["node", "--version"])
    found = {"Node.js " + said: "node"} if re.match(r"v(18|20|22|24)\.", said) else {}
    try:
        found.update(languages.fetch_nodes(folder))
    except npm_package.Missing:  # as test_nodes_of_npm says
        pass
    return found


def waits_of(facts, tid):
    """[(time, frames of the language)] of wakings, no frames where the sleep's own stack stands; and when the thread left its processor."""
    stacks, waits = {}, []
    for fact in facts:
        if "frames" in fact:
            stacks[fact["stack_key"]] = fact["frames"]
        if fact["kind"] == "waking" and fact["other_tid"] == tid:
            frames = stacks.get(fact.get("stack_key"), [])
            waits.append((fact["t"], [frame for frame in frames if isinstance(frame, list)]))
    return waits, sorted(fact["t"] for fact in facts if fact["kind"] == "switch" and fact["tid"] == tid)


def after(times, moment):
    at = bisect.bisect(times, moment)
    return times[at] if at < len(times) else 1 << 63


class Timers(unittest.TestCase):
    def compare(self, name, rows, facts):
        """Of sleeps behind the first that is told, by those behind which a timer's function ran before the next one. Of one that an interval
        ends: whose timer is the next one, if that is told, or due in the same millisecond."""
        times = [row[1] for row in rows]
        waits, left = waits_of(facts, rows[0][0])
        right, wrong, untold = 0, [], 0
        for moment, frames in waits:
            if after(times, moment) > after(left, moment):
                continue
            behind = rows[bisect.bisect(times, moment):]
            is_other = bool(frames) and frames[0][0] != "beats"
            by_interval = is_other and behind[0][2] == ["beats"]
            wanted = [row[2] for row in behind if not by_interval or row[2] != ["beats"]][:2 if by_interval else 1]
            if [frame[0] for frame in frames] in [row + ([] if row[0] in CALLBACKS else ["task " + row[-1]]) for row in wanted]:
                right += 1
            elif frames:
                wrong.append((wanted, frames))
            else:
                untold += right > 0
        print(f"{name}: {right} right, {len(wrong)} wrong, {untold} not told", file=sys.stderr)
        self.assertGreater(right, languages.ENOUGH)
        self.assertLessEqual(len(wrong), right / 100, wrong[:3])
        self.assertLessEqual(untold, right / 10)

    def test_timers(self):
        with tempfile.TemporaryDirectory() as folder:
            found = programs(folder)

            def work():
                for name, program in found.items():
                    subprocess.run([program, FIXTURE, "5", f"{folder}/{name}"], check=True)
            _, facts = languages.record(work)
            for name in found:
                with self.subTest(name):
                    self.compare(name, languages.rows_of(f"{folder}/{name}"), facts)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
