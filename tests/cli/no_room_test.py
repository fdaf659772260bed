#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On a full disk every command that writes ends with one line that says so, and what was there is as it was. no_room_test.py BIN"""
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = os.path.abspath(sys.argv[1])
PATIENCE_S = 120


class NoRoom(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A capture and its store beside a small file system, which holds a copy of the store and a site, and is full."""
        cls.folder = tempfile.mkdtemp(prefix="wp-no-room-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.mkdir(cls.folder + "/disk")
        cls.run_it("fleetgen", "--out", ".", "--seconds", "1", "--seed", "1", "--world", "1", "--release", "v1", "--frequency", "97")
        cls.capture, cls.other = sorted(glob.glob("*.capture", root_dir=cls.folder))[:2]
        cls.run_it("wakepath-store", "import", cls.capture, "--into", "store", "--aggregate", "web=comm=web")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", cls.folder + "/disk"], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", cls.folder + "/disk"], check=True)
        shutil.copytree(cls.folder + "/store", cls.folder + "/disk/store")
        cls.run_it("wakepath-reporter", "--no-config", "--quiet", "--store", "disk/store", "--out", "disk/site")
        with open(cls.folder + "/disk/fill", "wb", buffering=0) as file:
            for size in (65536, 512):
                try:
                    while file.write(b"x" * size) == size:
                        pass
                except OSError:
                    pass

    @classmethod
    def run_it(cls, program, *words, want=0):
        done = subprocess.run([f"{BIN}/{program}", *words], cwd=cls.folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
                              stdin=subprocess.DEVNULL, env={**os.environ, "TMPDIR": cls.folder + ("/disk" if want else "")})
        if done.returncode != want:
            raise AssertionError(f"{program} {words}: {done.returncode}\n{done.stderr}")
        return done

    def state(self):
        """All names on the disk, and of what was there the values of the store, and each file of the site."""
        values = self.run_it("wakepath-store", "dump", "--json", "disk/store").stdout
        self.run_it("wakepath-store", "verify", "disk/store")
        site = {}
        for folder, _, names in os.walk(self.folder + "/disk/site"):
            for name in names:
                with open(f"{folder}/{name}", "rb") as file:
                    site[f"{folder}/{name}"] = hashlib.sha256(file.read()).hexdigest()
        names = sorted(os.path.join(folder, name) for folder, folders, files in os.walk(self.folder + "/disk")
                       for name in folders + files if not name.endswith(".lock")) # whoever uses a store or a site may leave its lock
        return values, site, names

    def refuses(self, *words):
        before = self.state()
        said = self.run_it(*words, want=1).stderr
        self.assertRegex(said, "disk is full|No space left on device")
        self.assertEqual(said.count("\n"), 1, said)
        self.assertNotIn("goes on", said, "it has ended")
        for is_now, was in zip(self.state(), before):
            self.assertEqual(is_now, was)

    def test_import(self):
        self.refuses("wakepath-store", "import", self.capture, "--into", "disk/new", "--aggregate", "web=comm=web")
        self.refuses("wakepath-store", "import", self.other, "--into", "disk/store")

    def test_record(self):
        self.refuses("wakepath", "record", "--out", "disk/report", "--", "true")
        self.refuses("wakepath", "record", "--out", "report", "--store", "disk/recorded", "--", "true")
        self.assertFalse(os.path.exists(self.folder + "/report"))

    def test_view(self):
        self.refuses("wakepath", "view", self.capture)

    def test_rm(self):
        self.refuses("wakepath-store", "rm", "disk/store", "v1:web")

    def test_merge(self):
        self.run_it("wakepath-store", "import", self.capture, "--into", "other", "--release", "v2", "--force", "--aggregate", "web=comm=web")
        self.refuses("wakepath-store", "merge", "other", "--into", "disk/store")

    def test_backup(self):
        self.refuses("wakepath-store", "backup", "store", "--into", "disk/backup")

    def test_export(self):
        self.refuses("wakepath-reporter", "--store", "store", "--format", "json", "--out", "disk/out.json")
        self.refuses("wakepath-reporter", "--store", "store", "--single-file", "--out", "disk/out.html")

    def test_pages(self):
        self.refuses("wakepath-reporter", "--no-config", "--quiet", "--store", "store", "--out", "disk/new-site")
        self.refuses("wakepath-reporter", "--no-config", "--quiet", "--store", "store", "--out", "disk/site")

    def test_measure(self):
        os.mkdir(self.folder + "/repo")
        self.addCleanup(shutil.rmtree, self.folder + "/repo")
        for words in (["init", "-q"], ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"]):
            subprocess.run(["git", "-C", self.folder + "/repo", *words], check=True)
        self.refuses("wakepath", "measure", "HEAD", "--quiet", "--git", "repo", "--out", "disk/measure", "--", "true")


if __name__ == "__main__":
    if os.geteuid():
        print("skipped: only root mounts a file system")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[2:]])
