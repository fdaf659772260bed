#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath-store rm: what is named goes, and nothing else changes. store_rm_test.py BIN_DIR"""
import fcntl
import os
import subprocess
import sys
import unittest

from store_case import BIN, NOW, StoreCase, ago

SESSION = "07" * 4 + "-" + "-".join(["0707"] * 3) + "-" + "07" * 6
OTHER = "09" * 4 + "-" + "-".join(["0909"] * 3) + "-" + "09" * 6


class Remove(StoreCase):
    def setUp(self):
        super().setUp()
        for shard in ("s", "t"):
            self.make("v1", f"time:main:{ago(2)}:5", f"time:main:{ago(1)}:7", f"trace:main:{ago(1)}:1", f"exemplar:main:{ago(1)}:2",
                      f"time:web:{ago(1)}:11", f"exemplar:web:{ago(1)}:3", f"source:h:7:{ago(2)}:1:3000", f"source:h:8:{ago(1)}:1:3000",
                      f"process:h:7:{ago(2)}:1:0", f"session:7:3:{ago(2)}", f"session:9:3:{ago(1)}", "metadata:web:a:b:5", shard=shard)
        self.make("v2", f"time:main:{ago(0)}:13")

    def rm(self, name, *words, status=0):
        return self.json("rm", self.root, name, *words, status=status)

    def refused(self, name, said, *words, status=1):
        """One line, and nothing is changed."""
        before = self.values()
        done = self.says(status, "rm", self.root, name, *words)
        self.assertIn(said, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1 if status == 1 else 2 if "Try" in done.stderr else 1, done.stderr)
        self.assertEqual(self.values(), before)

    def leaves(self, name, gone, *words):
        """A dry run names what goes and changes nothing; then just that is gone, and the rest has the bytes that it had."""
        before = self.values()
        would = self.rm(name, "--dry-run", *words)
        self.assertEqual(self.values(), before)
        done = self.rm(name, *words)
        self.assertEqual((would["gone"], would["dry_run"], done["dry_run"]), (done["gone"], True, False))
        after = self.values()
        self.assertEqual({key: value for key, value in before.items() if not gone(key)}, after)
        self.assertLess(len(after), len(before))
        self.says(0, "verify", self.root)
        return done

    def test_a_timebox_of_an_aggregate(self):
        done = self.leaves(f"v1:main@{ago(1)}", lambda key: key.startswith("v1/main/") and str(ago(1)) in key)
        self.assertEqual(len(done["gone"]), 6, "report, trace and exemplars of two shards")
        self.assertEqual(self.total("v1", "main"), 10)

    def test_an_aggregate_with_its_metadata(self):
        self.leaves("v2~1:web", lambda key: key.startswith("v1/web/"))
        self.assertEqual([self.total("v1", name) for name in ("main", "web")], [24, 0])
        text = self.says(0, "rm", self.root, "v1:main").stdout
        self.assertIn(f"v1/main/report.{ago(2)}.s.~0000000001  (asked for)", text)
        self.assertTrue(any("__source__" in key for key in self.keys()), "objects stay for who refers to them")

    def test_a_timebox_of_all(self):
        self.leaves(f"v1@{ago(1)}", lambda key: str(ago(1)) in key or key.startswith("v1/web/metadata"))
        self.assertEqual(self.total("v1", "main"), 10)

    def test_a_release(self):
        self.leaves("v1", lambda key: key.startswith("v1/"))
        self.assertFalse(os.path.exists(self.root + "/v1"))
        self.assertIn("gone", self.says(0, "rm", self.root + "/v2").stdout)
        self.assertEqual(self.keys(), [])

    def test_a_session(self):
        def is_state(key):
            return key.startswith(f"v1/__state__/processed.{SESSION}")
        before = self.values()
        self.assertEqual(len(self.rm("v1/0707", "--dry-run")["gone"]), 2)
        done = self.says(0, "rm", self.root, f"v1/{SESSION}").stdout
        self.assertIn("stays in the sums", done)
        after = self.values()
        changed = {key for key in before if before[key] != after.get(key)}
        self.assertEqual(changed, {key for key in before if is_state(key) or key.startswith("v1/__state__/last_sample")})
        self.assertEqual(self.total("v1", "main"), 24)
        self.says(0, "verify", self.root)

    def test_names_that_are_none(self):
        self.refused("v11", "did you mean 'v1'?")
        self.refused("v1:mian", "release 'v1' has no aggregate 'mian': did you mean 'main'?")
        self.refused("v1:none-of-these", "there is no aggregate 'none-of-these'")
        self.refused(f"v1:main@{ago(1) + 1}", f"there is no timebox {ago(1) + 1} of 'main': did you mean {ago(1)}?")
        self.refused("v1@5", f"there is no timebox 5: did you mean {ago(2)}?")
        self.refused("v1@noon", "behind '@' stands the first second of a timebox")
        self.refused("v1/0808", "there is no session '0808'")
        self.refused("v1/main", "'main' is not a session")
        self.refused("v1/0", "or 4 or more digits")
        self.refused("v1:main/0707", "a sum cannot be parted by its sessions", status=64)
        self.assertIn("rm needs what to remove", self.says(64, "rm", self.root).stderr)
        for name in ("v1/", "v1:", "v1@", "v1:@5", "v1:main@", "v1:/0707", "v1:main/"):
            self.refused(name, "give the part, or the release alone", status=64)
        for words in ((self.root + "/v1/",), (self.root + "/v1", "")):
            self.assertIn("or the release alone", self.says(64, "rm", *words).stderr)
        self.refused("v" * 500, "is too long")
        self.assertIn("is not a store", self.says(1, "rm", "/etc", "v1").stderr)

    def test_what_cannot_be_opened(self):
        with open(self.root + "/v1/data.mdb", "r+b") as file:
            file.write(b"\xff" * 8192)
        self.assertIn(f"delete its folder '{self.root}/v1'", self.says(1, "rm", self.root, "v1", "--force").stderr)

    def test_what_is_kept_or_recorded(self):
        self.make("v2", f"session:9:3:{NOW - 60}:live")
        self.refused("v2", "release 'v2' is recorded now", "--now", str(NOW))
        self.refused("v2/0909", "has not ended")
        with open(self.root + "/~shard.s.lock", "wb") as lock:  # its clock may be years behind: its aggregator is there
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refused("v2", "release 'v2' is recorded now", "--now", str(NOW + 9 * 86400))
        self.says(0, "metadata", "set", self.root + "/v1", "keep", "the one of the contract")
        for name in ("v1", "v1:web", f"v1@{ago(1)}", "v1/0707"):
            self.refused(name, "kept by its metadata 'keep'")
        self.leaves("v1", lambda key: key.startswith("v1/"), "--force")
        self.leaves("v2", lambda key: True, "--now", str(NOW), "--force")

    def test_under_a_writer(self):
        """It goes on; what is not named is what it would have been without."""
        with subprocess.Popen([BIN + "/store_maker", self.root, "v1", "w", f"forever:live:{ago(0)}"], stdout=subprocess.PIPE) as writer:
            try:
                writer.stdout.readline()
                before, gone = self.values(), set()
                for name in (f"v1:main@{ago(1)}", f"v1@{ago(2)}", "v1/0707", "v1:web", "v1:live"):
                    gone |= {"v1/" + row["key"] for row in self.rm(name)["gone"]}
                    writer.stdout.readline()
                    self.says(0, "verify", self.root)
                for _ in range(3):
                    self.assertTrue(writer.stdout.readline())
            finally:
                writer.kill()
        after = self.values()
        self.assertTrue(any(f"/processed.{SESSION}" in key for key in gone) and any(f".{ago(2)}." in key for key in gone), gone)
        for key, value in before.items():
            if not key.startswith(("v1/live/", "v1/__state__/last_sample")) and key not in gone and ".w" not in key:
                self.assertEqual(after.get(key), value, key)
            elif key in gone and not key.startswith("v1/live/"):
                self.assertNotIn(key, after)
        self.assertGreater(self.total("v1", "live"), 0)
        self.says(0, "verify", self.root)

    def test_pages_follow(self):
        out = self.holder.name + "/site"
        words = [BIN + "/wakepath-reporter", "--no-config", "-q", "--store", self.root, "--out", out]
        subprocess.run(words, check=True, timeout=120)
        with open(out + "/index.html", encoding="utf-8") as file:
            self.assertIn("v2", file.read())
        self.says(0, "rm", self.root, "v2")
        subprocess.run(words, check=True, timeout=120)
        self.assertFalse([name for _, folders, files in os.walk(out) for name in folders + files if "v2" in name])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
