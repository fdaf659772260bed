#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath-store prune and compact --roll-up. store_prune_test.py BIN_DIR"""
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from store_case import BIN, DAY, HOUR, IS_LONG, NOW, StoreCase, ago


class Prune(StoreCase):
    def prune(self, *words, status=0):
        return self.json("prune", self.root, "--now", str(NOW), *words, status=status)

    def gone(self, result, release="v1"):
        return {row["key"]: row["why"] for one in result["releases"] if one["release"] == release for row in one["gone"]}

    def test_traces_go_after_a_week(self):
        self.make("v1", f"trace:main:{ago(9)}:1", f"trace:main:{ago(6)}:2", f"trace:main:{ago(0)}:3", f"time:main:{ago(0)}:5")
        self.assertEqual(self.gone(self.prune("--dry-run")), {f"main/trace.{ago(9)}.s": "old trace"})
        self.assertIn(f"v1/main/trace.{ago(9)}.s", self.keys())
        self.assertEqual(self.gone(self.prune()), {f"main/trace.{ago(9)}.s": "old trace"})
        self.assertNotIn(f"v1/main/trace.{ago(9)}.s", self.keys())
        self.assertIn(f"v1/main/trace.{ago(6)}.s", self.keys())
        self.assertEqual(self.gone(self.prune("--traces", "3d")), {f"main/trace.{ago(6)}.s": "old trace"})
        self.says(0, "verify", self.root)

    def dropped(self, result):
        return {row["release"]: row["dropped"] for row in result["releases"] if "dropped" in row}

    def releases(self):
        return [row["release"] for row in self.json("releases", self.root)]

    def many(self, count):
        """v00 is the oldest; each has an hour of `main`, every fifth one of `rare` too."""
        for number in range(count):
            self.make(f"v{number:02}", f"time:main:{ago(count - number)}:{number + 1}", f"blob:{number}:30000", *([f"time:rare:{ago(count - number)}:5"] if number % 5 == 0 else []))

    def test_whole_releases_by_count_and_age(self):
        self.many(12)
        gone = {f"v{number:02}": "more releases than are kept" for number in range(8)}
        self.assertEqual(self.dropped(self.prune("--keep-releases", "4", "--dry-run")), gone)
        self.assertEqual(len(self.releases()), 12)
        self.says(0, "metadata", "set", self.root + "/v01", "keep", "the one of the contract")
        for name in ("v02", "v03"):
            del gone[name]
        del gone["v01"]
        self.assertEqual(self.dropped(self.prune("--keep-releases", "4", "--keep", "v02", "--keep", "v11~8")), gone)
        self.assertEqual(self.releases(), ["v01", "v02", "v03", "v08", "v09", "v10", "v11"])
        self.assertEqual(self.dropped(self.prune("--keep-release-age", "2d")), {name: "old release" for name in ("v02", "v03", "v08", "v09")})
        self.assertEqual(self.releases(), ["v01", "v10", "v11"], "v10 is the newest that has the aggregate rare")
        self.assertEqual(self.dropped(self.prune("--keep-releases", "1")), {})
        self.assertEqual([name for name in os.listdir(self.root) if "copy" in name], [])
        self.says(0, "verify", self.root)

    def test_quota_of_many_releases(self):
        """Each keeps its newest timebox, so together they cannot be made small: whole ones go, the oldest first."""
        self.many(12)
        used = self.prune("--dry-run")["used_bytes"]
        result = self.prune("--quota", str(used // 3), "--dry-run")
        self.assertEqual(result["over_quota_bytes"], 0)
        gone = self.dropped(result)
        self.assertEqual(sorted(gone), [f"v{number:02}" for number in range(len(gone))])
        self.assertEqual(len(self.releases()), 12)
        result = self.prune("--quota", str(used // 3))
        self.assertEqual((self.dropped(result), result["over_quota_bytes"]), (gone, 0))
        self.assertEqual(self.releases(), [f"v{number:02}" for number in range(len(gone), 12)])
        self.assertIn("over the quota", self.says(1, "prune", self.root, "--now", str(NOW), "--quota", "1").stderr)
        self.assertEqual(self.releases(), ["v10", "v11"], "the newest of an aggregate stays")

    def test_who_prunes_one_release_drops_none(self):
        self.many(2)
        for words in (("--keep-releases", "1"), ("--keep-release-age", "1d"), ("--keep", "v00")):
            self.assertIn("give the store's root alone", self.says(64, "prune", self.root + "/v00", *words).stderr)
        self.says(64, "prune", self.root, "--keep-releases", "0")
        self.assertIn("has no release 'v99'", self.says(1, "prune", self.root, "--keep", "v99", "--keep-releases", "1").stderr)
        self.says(1, "prune", self.root + "/v00", "--quota", "1")
        self.assertEqual(self.releases(), ["v00", "v01"])

    def test_a_release_that_is_recorded_now_stays(self):
        self.make("v1", f"time:main:{NOW // HOUR * HOUR}:1", f"session:7:3:{NOW}:live")
        self.make("v2", f"time:main:{NOW // HOUR * HOUR + 60}:1")
        self.make("v3", f"time:main:{NOW // HOUR * HOUR + 120}:1")
        self.assertEqual(sorted(self.dropped(self.prune("--keep-releases", "1"))), ["v2"])

    def test_files_of_others_stay(self):
        for number in range(2):
            self.make(f"v0{number}", f"time:main:{ago(2 - number)}:1")
        with open(self.root + "/v00/notes", "w", encoding="ascii"):
            pass
        self.assertIn("notes", self.says(1, "prune", self.root, "--now", str(NOW), "--keep-releases", "1").stderr)
        self.assertTrue(os.path.exists(self.root + "/v00/notes"))

    def test_quiet(self):
        self.many(2)
        self.assertEqual(self.says(0, "prune", self.root, "-q", "--now", str(NOW)).stdout, "")
        self.assertTrue(self.says(0, "prune", self.root, "-q", "--dry-run", "--now", str(NOW)).stdout)

    def test_hours_become_days_become_months(self):
        facts = [f"time:main:{ago(day, hour)}:{10 ** (hour % 3)}" for day in (0, 20, 40, 41, 500, 501) for hour in (0, 5, 23)
                 if ago(day, hour) <= NOW]
        self.make("v1", *facts)
        before = self.total("v1", "main")
        self.prune()
        reports = [key.split("/")[-1] for key in self.keys() if "/report." in key]
        month = 1719792000  # July 2024, in which both lie
        self.assertEqual(sorted(reports), sorted(
            [f"report.{ago(day)}.s" for day in (40, 41)] + [f"report.{month}.s"] +
            [f"report.{ago(20, hour)}.s.~0000000001" for hour in (0, 5, 23)] +
            [f"report.{ago(0, hour)}.s.~0000000001" for hour in (0, 5)]))
        self.assertEqual(self.total("v1", "main"), before)
        lengths = {row["path"].split("/")[-1]: row["head"].get("timebox_length_s") for row in
                   self.json("ls", "-R", self.root, "v1") if "/report." in row["path"]}
        self.assertEqual(lengths[f"report.{ago(40)}.s"], DAY)
        self.assertEqual(lengths[f"report.{month}.s"], 31 * DAY)
        self.assertEqual(self.gone(self.prune()), {})  # nothing more to do
        self.says(0, "verify", self.root)

    def test_rolled_up_equals_merged_when_read(self):
        """The day's value has the same digest as the sum that compaction makes of one timebox."""
        seeds = range(24)
        self.make("v1", *[f"report:main:{ago(50, seed)}:{seed}" for seed in seeds], f"time:main:{ago(0)}:1")
        self.make("v2", *[f"report:main:{ago(50)}:{seed}" for seed in reversed(seeds)], f"time:main:{ago(0)}:1")
        self.says(0, "compact", self.root, "v2")
        self.says(0, "compact", "--roll-up", "--now", str(NOW), self.root, "v1")
        key = f"main/report.{ago(50)}.s"
        self.assertEqual(self.json("cat", self.root, "v1", key)["digest"], self.json("cat", self.root, "v2", key)["digest"])

    def test_late_data_joins_its_day(self):
        self.make("v1", f"time:main:{ago(50, 3)}:100", f"time:main:{ago(0)}:1")
        self.prune()
        self.make("v1", f"time:main:{ago(50, 3)}:20", f"time:main:{ago(50)}:3")  # late
        self.assertEqual(self.total("v1", "main"), 124)
        self.says(0, "compact", self.root)
        self.prune()
        self.assertIn(f"v1/main/report.{ago(50)}.s", self.keys())
        self.assertEqual(len([key for key in self.keys() if "/report." in key]), 2)
        self.assertEqual(self.total("v1", "main"), 124)

    def test_an_open_day_stays(self):
        self.make("v1", f"time:main:{ago(1, 3)}:1", f"time:main:{ago(0, 1)}:1", f"time:main:{ago(0, 12)}:1")
        words = ("--hours", "0", "--now")
        just_before = NOW // DAY * DAY + HOUR - 1
        self.says(0, "compact", "--roll-up", *words, str(just_before), self.root)
        self.assertIn(f"v1/main/report.{ago(1, 3)}.s", self.keys())
        self.says(0, "compact", "--roll-up", *words, str(just_before + 1), self.root)
        self.assertIn(f"v1/main/report.{ago(1)}.s", self.keys())
        self.assertIn(f"v1/main/report.{ago(0, 1)}.s", self.keys())

    def test_the_newest_stays(self):
        """Random stores, hard rules: the newest timebox of each release is as it was."""
        for seed in range(12 if IS_LONG else 4):
            rng = random.Random(seed)
            root = f"{self.holder.name}/r{seed}"
            newest = {}
            for release in ("a", "b", "c"):
                boxes = [ago(rng.randrange(800), rng.randrange(24)) for _ in range(rng.randrange(1, 12))]
                facts = [f"report:{rng.choice(('main', 'web'))}:{box}:{rng.randrange(99)}" for box in boxes]
                self.make(release, *facts, f"trace:main:{min(boxes)}:1", root=root)
                self.says(0, "compact", root, release)
                newest[release] = max(boxes)
            before = self.values(root)
            for release in newest:  # by itself: none goes as a whole; the quota cannot be held
                self.json("prune", f"{root}/{release}", "--now", str(NOW), "--traces", "0", "--hours", "0", "--days", "0", "--months", "0",
                          "--state", "0", "--quota", "1", *rng.choice(((), ("--no-roll-up",))), status=1)
            after = self.values(root)
            for release, box in newest.items():
                wanted = {key: digest for key, digest in before.items()
                          if key.startswith(release + "/") and f"/report.{box}." in key}
                self.assertTrue(wanted)
                self.assertEqual({key: after.get(key) for key in wanted}, wanted, seed)
                self.assertTrue(any(key.startswith(f"{release}/main/trace.") for key in after))
            self.says(0, "verify", root)

    def test_a_clock_that_is_ahead(self):
        """A timebox in the future does not take the place of the newest real one."""
        self.make("v1", f"time:main:{ago(100)}:1", f"time:main:{NOW + 900 * DAY}:1", f"time:main:{ago(300)}:1")
        self.prune("--no-roll-up")
        self.assertEqual([key.split("/")[-1].split(".")[1] for key in self.keys() if "/report." in key],
                         [str(ago(100)), str(NOW + 900 * DAY)])

    def test_no_roll_up_deletes(self):
        self.make("v1", f"time:old:{ago(40)}:1", f"metadata:old:k:v:5", f"time:main:{ago(0)}:1", f"time:main:{ago(40)}:1")
        gone = self.gone(self.prune("--no-roll-up"))
        self.assertEqual(gone, {f"old/report.{ago(40)}.s.~0000000001": "old hour",
                                f"main/report.{ago(40)}.s.~0000000001": "old hour",
                                "old/metadata.s": "metadata of an aggregate without data"})
        self.says(0, "verify", self.root)

    def test_quota_takes_the_oldest_of_all_releases(self):
        for index, release in enumerate(("v1", "v2")):
            self.make(release, *[f"report:main:{ago(20 - 2 * step - index)}:{step}:600" for step in range(8)])
        used = self.prune("--dry-run")["used_bytes"]
        before = self.keys()
        quota = used // 2  # whatever a report takes: more than the newest of each release, which stay
        dry = self.prune("--quota", str(quota), "--dry-run")
        self.assertEqual(before, self.keys())
        self.assertEqual(dry["over_quota_bytes"], 0)
        self.assertGreater(self.prune("--quota", "1", "--dry-run")["over_quota_bytes"], 0)  # the newest stay
        wet = self.prune("--quota", str(quota))
        self.assertLessEqual(wet["used_bytes"], quota)
        self.assertEqual({**self.gone(dry), **self.gone(dry, "v2")}, {**self.gone(wet), **self.gone(wet, "v2")})
        left = [int(key.split(".")[1]) for key in self.keys() if "/report." in key]
        went = [int(key.split(".")[1]) for key in set(before) - set(self.keys())]
        self.assertTrue(went)
        self.assertLess(max(went), min(left))
        self.says(0, "verify", self.root)

    def test_sessions_processes_and_blobs_that_nobody_needs(self):
        old, young = ago(90), ago(2)
        self.make("v1", f"session:1:7:{old}", f"session:2:9:{young}", f"time:main:{ago(0)}:1",
                  # 10 is in a report, 11 is its parent, 12 the parent's; 13 and its child 14 are over, 15 is young, its parent 16 old
                  f"process:h:10:{old}:11:{old}", f"process:h:11:{old}:12:{old}", f"process:h:12:{old}:1:0",
                  f"process:h:13:{old}:1:0", f"process:h:14:{old}:13:{old}", f"process:h:15:{young}:16:{old}",
                  f"process:h:16:{old}:1:0", f"process:h:12:{old - 999}:1:0", f"user:h:10:{old}:{ago(1)}", "blob:1:5000")
        self.make("v1", f"source:h:10:{old}:2:5000", shard="t")
        self.make("v1", f"source:h:13:{old}:3:5000", shard="u")
        blobs = len([key for key in self.keys() if "/__source__/" in key])
        self.assertEqual(blobs, 3)
        gone = self.gone(self.prune())
        self.assertEqual(gone["__state__/genealogy.s"], "3 processes that nothing refers to")
        rows = self.json("cat", self.root, "v1", "__state__/genealogy.s")["processes"]
        self.assertEqual(sorted(row["pid"] for row in rows), [10, 11, 12, 15, 16])
        sessions = [row["session"][:2] for row in self.json("cat", self.root, "v1", "__state__/last_sample.s")["entries"]]
        self.assertEqual(sessions, ["02"])
        self.assertEqual(len([key for key in self.keys() if "/processed." in key]), 1)
        self.assertEqual(len([key for key in self.keys() if "/__source__/" in key]), 1)  # the one of process 10
        self.says(0, "verify", self.root)

    def test_space_is_given_back(self):
        self.make("v1", f"time:main:{ago(0)}:1", *[f"blob:{n}:100000" for n in range(20)])
        path = self.root + "/v1/data.mdb"
        os.chmod(path, 0o640)
        before = os.stat(path)
        result = self.prune()
        self.assertTrue(result["releases"][0]["shrunk"])
        after = os.stat(path)
        self.assertLess(after.st_size, 200000)
        self.assertGreater(before.st_size, 2000000)
        self.assertEqual((after.st_mode, after.st_uid), (before.st_mode, before.st_uid))
        self.assertEqual(sorted(os.listdir(self.root)), ["v1", "~store.lock"])
        self.make("v1", f"time:main:{ago(0)}:2")
        self.assertEqual(self.total("v1", "main"), 3)
        self.says(0, "verify", self.root)

    def test_writers_go_on_while_space_is_given_back(self):
        """Not one commit is lost: two writers that commit all the time, and prunes that exchange the file below them."""
        self.make("v1", f"time:main:{ago(0)}:0")
        counts, shrunk = [0, 0], 0
        writers = [subprocess.Popen([BIN + "/store_maker", self.root, "v1", f"w{n}", f"forever:main:{ago(0)}"],
                                    stdout=subprocess.PIPE) for n in (0, 1)]
        try:
            for turn in range(6):
                self.make("v1", *[f"blob:{turn * 10 + n}:100000" for n in range(8)])
                shrunk += self.prune()["releases"][0]["shrunk"]
                time.sleep(0.05)
        finally:
            for writer in writers:
                writer.send_signal(signal.SIGKILL)
        for index, writer in enumerate(writers):
            counts[index] = writer.stdout.read().count(b"one\n")
            writer.wait()
            writer.stdout.close()
        self.assertEqual(shrunk, 6)
        self.says(0, "verify", self.root)
        total = self.total("v1", "main")
        self.assertGreaterEqual(total, sum(counts))
        self.assertLessEqual(total, sum(counts) + 2)  # a commit that was killed before it could say so
        self.assertGreater(min(counts), 20)

    def test_death_at_any_moment(self):
        """kill -9 in the midst of pruning: each of its steps is before or after, and nothing is left lying about."""
        kept = [f"time:main:{ago(day, hour)}:{day + hour}" for day in (0, 40, 41, 42) for hour in range(8)]
        for turn in range(0, 25, 1 if IS_LONG else 3):
            root = f"{self.holder.name}/k{turn}"
            self.make("v1", *kept, *[f"blob:{n}:60000" for n in range(20)], root=root)
            total = self.total("v1", "main", root)
            prune = subprocess.Popen([BIN + "/wakepath-store", "prune", root, "--now", str(NOW)], stdout=subprocess.DEVNULL,
                                     start_new_session=True)
            time.sleep(turn * 0.0016)
            os.killpg(prune.pid, signal.SIGKILL)
            prune.wait()
            self.says(0, "verify", root)
            self.assertEqual(self.total("v1", "main", root), total)
            reports = len([key for key in self.keys(root) if "/report." in key])
            blobs = len([key for key in self.keys(root) if "/__source__/" in key])
            self.assertIn((reports, blobs), ((32, 20), (32, 0), (11, 0)))
            self.says(0, "prune", root, "--now", str(NOW))
            self.assertEqual(sorted(os.listdir(root)), ["v1", "~store.lock"])
            self.assertLess(os.stat(root + "/v1/data.mdb").st_size, 300000)

    def test_one_at_a_time(self):
        self.make("v1", f"time:main:{ago(0)}:1")
        with open(self.root + "/~store.lock", "w", encoding="ascii") as lock:
            import fcntl
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("tidies", self.says(1, "prune", self.root).stderr)
        self.says(0, "prune", self.root)

    def test_what_is_asked_wrongly(self):
        self.make("v1", f"time:main:{ago(0)}:1")
        for words in (("--traces", "soon"), ("--quota", "much"), ("--quota", "-1"), ("--hours", "1fortnight"), ("--now", "x")):
            self.assertIn(words[1], self.says(64, "prune", self.root, *words).stderr)
        self.says(64, "prune")
        self.assertIn("--dry-run", self.says(0, "prune", "--help").stdout)
        self.assertIn("v9", self.says(1, "prune", self.root, "v9").stderr)
        self.assertFalse(os.path.exists(self.root + "/v9"))
        self.assertIn("in use", self.says(0, "prune", self.root).stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
