#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath-store where somebody asks for the wrong thing, and what must not come of it. store_misuse_test.py BIN_DIR"""
import os
import re
import subprocess
import unittest

from store_case import BIN, HOUR, NOW, StoreCase, ago


class Misuse(StoreCase):
    def test_no_store_in_a_release(self):
        """The folder of a release is exchanged as a whole: a store or a backup in it would be gone with the next prune."""
        self.make("v1", f"time:main:{ago(1)}:5")
        other, inside = self.holder.name + "/other", self.root + "/v1"
        self.make("v2", f"time:main:{ago(1)}:7", root=other)
        dump = self.holder.name + "/dump"
        with open(dump, "w", encoding="ascii") as file:
            file.write(self.says(0, "dump", other).stdout)
        for words in (["merge", other, "--into"], ["import", other, "--into"], ["backup", other, "--into"]):
            for place in (inside, inside + "/b", inside + "/b/c"):
                self.assertIn("another place", self.says(1, *words, place).stderr, words)
        self.assertIn("another place", self.says(1, "load", inside, dump).stderr)
        os.symlink(inside, self.holder.name + "/link")
        self.assertIn("another place", self.says(1, "merge", other, "--into", self.holder.name + "/link/x").stderr)
        self.assertEqual(sorted(os.listdir(inside)), ["data.mdb", "lock.mdb"])

    def test_what_is_not_the_stores_stays(self):
        """Somebody keeps notes beside data.mdb: they are not swept away with the space that is given back."""
        self.make("v1", "blob:1:400000", f"time:main:{ago(1)}:5")
        note = self.root + "/v1/notes.txt"
        with open(note, "w", encoding="ascii") as file:
            file.write("mine")
        self.assertIn("notes.txt", self.says(1, "prune", self.root, "--now", str(NOW)).stderr)
        self.assertTrue(os.path.exists(note))
        os.remove(note)
        before = os.stat(self.root + "/v1/data.mdb").st_size
        self.says(0, "prune", self.root, "--now", str(NOW))
        self.assertLess(os.stat(self.root + "/v1/data.mdb").st_size, before)

    def test_a_backup_that_was_killed_is_swept_up(self):
        self.make("v1", f"time:main:{ago(1)}:5")
        to = self.holder.name + "/backup"
        os.makedirs(to + "/v1~copy.abcdef")
        with open(to + "/v1~copy.abcdef/data.mdb", "wb") as file:
            file.write(b"half")
        self.says(0, "backup", self.root, "--into", to)
        self.assertEqual([name for name in os.listdir(to) if "~copy" in name], [])
        self.assertEqual(self.values(to), self.values())

    def test_many_timeboxes_with_metadata(self):
        """What is said of timeboxes goes with them, and not by looking at each other one: 20,000 were half a minute."""
        count, first = 20000, ago(1) - 20000 * HOUR
        self.make("v1", *[f"time:main:{first + i * HOUR}:1" for i in range(500)])
        entry = ' body {\n  entries {\n   key "who"\n   value "x"\n   real_s 5\n  }\n }\n'
        said = "".join(f'value "main/metadata.~{first + i * HOUR}.s"\n{entry}' for i in range(count))
        lines = self.says(0, "dump", self.root).stdout
        at = re.search(r'^value "main/report\.', lines, re.M).start()
        other = self.holder.name + "/other"
        self.says(0, "load", other, stdin=lines[:at] + said + lines[at:])
        plan = self.json("prune", other, "--dry-run", "--now", str(NOW))["releases"][0]["gone"]
        gone = [row["key"] for row in plan if row["why"] == "metadata of a timebox without data"]
        kept = {row["path"][3:] for row in self.json("ls", "-R", other)} - set(gone)
        self.assertGreater(len(gone), count - 600)
        self.assertIn(f"main/metadata.~{first}.s", kept)
        self.assertNotIn(f"main/metadata.~{first + 700 * HOUR}.s", kept)

    def files(self):
        found = {}
        for folder, _, names in os.walk(self.root):
            found[folder] = None
            for name in names:
                if name != "lock.mdb":  # LMDB's table of readers
                    with open(folder + "/" + name, "rb") as file:
                        found[folder + "/" + name] = file.read()
        return found

    def test_a_dry_run_writes_nothing(self):
        """Not even what any command that tidies would sweep up, nor a lock's file."""
        self.make("v1", "blob:1:400000", f"time:main:{ago(50)}:5", f"trace:main:{ago(50)}:1", f"time:main:{ago(1)}:5")
        os.mkdir(self.root + "/v1~copy.abcdef")
        for name in os.listdir(self.root):
            if name.endswith(".lock"):
                os.remove(self.root + "/" + name)
        before = self.files()
        for words in (["prune", "--dry-run"], ["prune", "--dry-run", "--no-roll-up", "--quota", "1"], ["repair", "--dry-run"],
                      ["repair", "--dry-run", "--drop-damaged"]):
            self.says(0, words[0], self.root, *words[1:], *(["--now", str(NOW)] if words[0] == "prune" else []))
        self.assertEqual(self.files(), before)

    def test_a_newer_version_is_not_damage(self):
        """Its values are named as what they are, and no age is guessed for them."""
        self.make("v1", f"time:main:{ago(500)}:5", f"time:main:{ago(1)}:5")
        path = self.root + "/v1/data.mdb"
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data.replace(b"WPV1", b"WPV2"))
        kinds = self.json("stat", self.root)[0]["kinds"]
        self.assertEqual(kinds["damaged"]["keys"], 0)
        self.assertGreater(kinds["newer"]["keys"], 2)
        self.assertIn("newer", self.says(0, "stat", self.root).stdout)
        self.says(0, "prune", self.root, "--no-roll-up", "--now", str(NOW))
        self.assertEqual(self.json("stat", self.root)[0]["kinds"]["newer"]["keys"], kinds["newer"]["keys"])
        self.assertIn("newer version", self.says(1, "verify", self.root).stdout)

    def put_raw(self, release, rows):
        """Keys and values as bytes, past the store's own code."""
        text = "VERSION=3\nformat=bytevalue\ntype=btree\nmapsize=268435456\nHEADER=END\n"
        text += "".join(f" {key.hex()}\n {value.hex()}\n" for key, value in rows)
        subprocess.run(["mdb_load", f"{self.root}/{release}"], input=text + "DATA=END\n", text=True, check=True, timeout=60)

    def test_keys_that_are_none(self):
        """A bad key costs itself only: it is named, everything else goes on, and repair gets rid of it."""
        self.make("v1", f"time:main:{ago(40)}:5", f"time:main:{ago(1)}:7")
        sound = self.keys()
        self.put_raw("v1", [(b"../../etc/passwd", b"root"), (b"<b>/report.1.s", b"x"), (b"\xff\xfe\x00key", b"x"), (b"main/\x00", b"y"),
                            (b"main/report.5\x00.s", b"z"), (b"\x00", b"0"), (b"\x00\x00", b"0"), (b"m" * 511, b"y")])
        faults = self.json("verify", self.root, status=1)["faults"]
        self.assertEqual(len(faults), 8, faults)
        run = subprocess.run([BIN + "/wakepath-reporter", "--store", self.root, "--out", self.holder.name + "/site"],
                             capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.says(0, "compact", self.root)
        self.says(0, "prune", self.root, "--now", str(NOW))
        self.says(0, "stat", self.root)
        self.assertIn("total_ns: 12", self.says(0, "cat", self.root, "v1:main").stdout)
        self.says(0, "merge", self.root, "--into", self.holder.name + "/merged")
        self.assertEqual(len(self.json("repair", self.root, "--drop-damaged")), 8)
        self.assertEqual(self.says(0, "verify", self.root).returncode, 0)
        self.assertEqual(len(self.keys()), len(sound))

    def test_no_quota_of_nothing(self):
        self.make("v1", f"time:main:{ago(1)}:5")
        self.assertIn("quota", self.says(64, "prune", self.root, "--quota", "0").stderr)

    def test_set_holds(self):
        """`set` says of itself that the new value holds: after a clock that was ahead, too. With --now it is as old as it says."""
        self.make("v1", f"time:main:{ago(1)}:5", "metadata::owner:early:99999999999")
        self.says(0, "metadata", "set", self.root + "/v1", "owner", "late")
        self.assertEqual(self.says(0, "metadata", "get", self.root + "/v1", "owner").stdout, "late\n")
        self.says(0, "metadata", "set", self.root + "/v1", "owner", "no", "--now", "7")
        self.assertEqual(self.says(0, "metadata", "get", self.root + "/v1", "owner").stdout, "late\n")
        self.says(0, "metadata", "set", self.root + "/v1", "owner", "mine", "--shard", "s")
        self.assertEqual(self.says(0, "metadata", "get", self.root + "/v1", "owner").stdout, "mine\n")

    def test_a_value_is_not_cut(self):
        self.make("v1", f"time:main:{ago(1)}:5")
        self.assertIn("65535", self.says(1, "metadata", "set", self.root + "/v1", "long", "x" * 65536).stderr)
        self.says(0, "metadata", "set", self.root + "/v1", "long", "x" * 65535)
        self.assertEqual(len(self.says(0, "metadata", "get", self.root + "/v1", "long").stdout), 65536)


if __name__ == "__main__":
    unittest.main(argv=["store_misuse_test.py"])
