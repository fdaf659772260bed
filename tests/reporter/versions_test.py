#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Releases with the subject, author, date and branch of their commit. versions_test.py BIN_DIR"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BIN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""


def git(repository, *words, date="2026-01-02T03:04:05Z"):
    environment = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null", GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)
    done = subprocess.run(["git", "-C", repository, "-c", "user.name=Ada L", "-c", "user.email=a@x", *words], check=True, timeout=60,
                          capture_output=True, text=True, env=environment)
    return done.stdout.strip()


class Versions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="wp-versions-")
        cls.root, cls.repository = cls.holder.name + "/store", cls.holder.name + "/repository"
        os.mkdir(cls.repository)
        git(cls.repository, "init", "-q", "-b", "main")
        for number, subject in enumerate(("first <b>", "second \x1b[31mred"), 1):
            git(cls.repository, "commit", "-q", "--allow-empty", "-m", subject, date=f"2026-0{number}-02T03:04:05Z")
            git(cls.repository, "tag", f"v{number}")
        cls.first = git(cls.repository, "rev-parse", "v1")
        git(cls.repository, "checkout", "-q", "-b", "side")
        git(cls.repository, "commit", "-q", "--allow-empty", "-m", "aside", date="2026-03-02T03:04:05Z")
        cls.aside = git(cls.repository, "rev-parse", "HEAD")
        git(cls.repository, "checkout", "-q", "main")
        for number, release in enumerate(("v1", "v2", cls.aside[:10], "v2-dirty", "elsewhere")):
            subprocess.run([BIN + "/store_maker", cls.root, release, "s", f"report:main:{1763600400 + number * 3600}:{number}:50"],
                           check=True, timeout=60)
        cls.runs(0, "wakepath-store", "metadata", "set", cls.root + "/elsewhere", "commit.id", "0123456789abcdef0123456789abcdef01234567")
        cls.runs(0, "wakepath-store", "metadata", "set", cls.root + "/elsewhere", "commit.subject", "kept \x1b by record")
        cls.runs(0, "wakepath-store", "metadata", "set", cls.root + "/elsewhere", "commit.branch", "topic")

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    @classmethod
    def runs(cls, status, program, *words, **more):
        done = subprocess.run([f"{BIN}/{program}", *words], capture_output=True, text=True, timeout=120, check=False, **more)
        assert done.returncode == status or (status is None and done.returncode in (0, 2)), (words, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def log(self, *words):
        return {row["release"]: row for row in json.loads(self.runs(0, "wakepath", "log", "--store", self.root, "-f", "json", *words))["releases"]}

    def test_a_repository_says_it(self):
        log = self.log("--git", self.repository)
        self.assertEqual(log["v1"]["commit"]["subject"], "first <b>")
        self.assertEqual((log["v1"]["commit"]["author"], log["v1"]["commit"]["date"], log["v1"]["commit"]["branch"]), ("Ada L", "2026-01-02", "main"))
        self.assertEqual(log["v2"]["commit"], log["v2-dirty"]["commit"])
        self.assertEqual(log["v2"]["commit"]["subject"], "second  [31mred", "nothing that a terminal obeys")
        self.assertEqual((log[self.aside[:10]]["commit"]["branch"], log[self.aside[:10]]["commit"]["id"]), ("side", self.aside))
        self.assertEqual(log["elsewhere"]["commit"]["branch"], "topic", "what the repository does not know")
        self.assertEqual(log[self.aside[:10]]["baseline"], "v2")
        self.assertEqual(list(log)[:2], [self.aside[:10], "v2-dirty"], "by ancestry")

    def test_without_one_what_was_kept(self):
        log = self.log()
        self.assertEqual(log["elsewhere"]["commit"]["subject"], "kept   by record")
        self.assertNotIn("commit", log["v1"])
        rows = {row["release"]: row for row in json.loads(self.runs(0, "wakepath-store", "log", self.root, "--json"))}
        self.assertEqual((rows["elsewhere"]["commit.branch"], "commit.id" in rows["v1"]), ("topic", False))
        self.assertIn("0123456789ab", self.runs(0, "wakepath-store", "log", self.root))

    def test_without_releases(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertIn("has no release", self.runs(1, "wakepath", "log", "--store", empty))
            self.assertEqual(json.loads(self.runs(0, "wakepath", "log", "--store", empty, "-f", "json")), {"schema": 1, "releases": []})

    def test_checks_that_were_kept(self):
        self.runs(0, "wakepath", "check", "--store", self.root, "v1", "v1", "--keep")
        self.assertEqual([check["against"] for check in self.log()["v1"]["checks"]], ["v1"])
        self.assertIn("    same as v1 in main", self.runs(0, "wakepath", "log", "--store", self.root))
        self.assertIn("[1 check kept, 0 worse]", self.runs(0, "wakepath-store", "log", self.root))
        for asked in ("HEAD~1:main", "main~1:main", self.first[:8] + ":main"):
            self.runs(None, "wakepath", "check", "--store", self.root, asked, "v2", "--keep", cwd=self.repository)
        self.assertEqual([check["against"] for check in self.log()["v2"]["checks"]], ["v1:main"], "a branch moves, a release does not")

    def asked(self, name, *words, status=0, folder="/"):
        """The release that the answer is of."""
        said = self.runs(status, "wakepath", "query", "--store", self.root, "--release", name, "-f", "json", *words, cwd=folder)
        return json.loads(said)["releases"][0]["release"] if not status else said

    def test_names_of_commits(self):
        short = self.aside[:10]
        for name, release in (("v1", "v1"), ("HEAD", "v2"), ("main~1", "v1"), ("HEAD~", "v1"), ("side", short), (self.aside[:8], short)):
            self.assertEqual(self.asked(name, folder=self.repository), release, name)
        self.assertEqual(self.asked("v2~1", "--git", self.repository), "v1", "by ancestry")
        self.assertEqual(self.asked("01234567"), "elsewhere", "what record kept, without a repository")
        self.assertEqual(self.asked("topic"), "elsewhere")
        self.assertIn("no release HEAD", self.asked("HEAD", status=1))
        self.assertIn("did you mean v2", self.asked("v22", status=1))
        said = self.runs(None, "wakepath", "check", "--store", self.root, "--git", self.repository, f"{short}~1", short)
        self.assertIn(f"{short} against v2", said, "the measured ancestor, not the release before it in time")
        self.assertIn("fewer than 9", self.runs(1, "wakepath", "check", "--store", self.root, "--git", self.repository, "v2~9", "v2"))
        self.assertIn("main", self.runs(None, "wakepath", "check", "--store", self.root, "HEAD~1", "HEAD", cwd=self.repository))
        for words in (("stat", self.root, "01234567"), ("stat", self.root + "/01234567"), ("ls", self.root, "topic")):
            self.assertIn("elsewhere" if words[0] == "stat" else "main/", self.runs(0, "wakepath-store", *words), words)
        self.runs(0, "wakepath-store", "metadata", "set", self.root + "/v1", "commit.id", self.first)
        for name in ("HEAD~1", "main~", self.first[:9]):
            self.assertIn("v1", self.runs(0, "wakepath-store", "stat", self.root, name, cwd=self.repository), name)
        self.assertIn("v1", self.runs(0, "wakepath-store", "log", f"{self.root}/HEAD~1", cwd=self.repository))
        for words in (("stat", self.root, "HEAD"), ("rm", self.root, "HEAD~1", "--dry-run")):
            self.assertIn("has no release 'HEAD'", self.runs(1, "wakepath-store", *words, cwd=self.repository))
        self.runs(0, "wakepath-store", "metadata", "rm", self.root + "/v1", "commit.id")
        self.assertIn("did you mean 'elsewhere'", self.runs(1, "wakepath-store", "rm", self.root, "0123456:main", "--dry-run"))
        self.assertIn("has no release '0bad'", self.runs(1, "wakepath-store", "stat", self.root, "0bad"))

    def test_back_by_ancestry(self):
        """Wherever a release is asked for, where the folder's repository knows it; elsewhere by time."""
        for folder, before in ((self.repository, "v2"), ("/", "elsewhere")):
            self.assertEqual(self.asked("v2-dirty~1", folder=folder), before)
            for words in (("stat", self.root, "v2-dirty~1"), ("log", self.root + "/v2-dirty~"), ("rm", self.root, "v2-dirty~1", "--dry-run"),
                          ("rm", self.root, "v2-dirty~:main", "--dry-run"), ("prune", self.root, "v2-dirty~1", "--dry-run", "--json")):
                said = self.runs(0, "wakepath-store", *words, cwd=folder)
                self.assertIn(before, said, words)
                self.assertNotRegex(said, "elsewhere" if before == "v2" else r"v2(?!-dirty)", words)
            self.runs(0, "wakepath-store", "prune", self.root, "--keep", "v2-dirty~1", "--dry-run", cwd=folder)
        for words in (("stat", self.root, "v2~9"), ("rm", self.root, "v2~9", "--dry-run")):
            self.assertIn("fewer than 9 measured ancestors are before release v2", self.runs(1, "wakepath-store", *words, cwd=self.repository))
        self.assertRegex(self.runs(1, "wakepath-store", "stat", self.root, "v2~9", cwd="/"), "there are only [0-9] releases before 'v2'")

    def test_pages(self):
        out = self.holder.name + "/site"
        for words in (("--git", self.repository), ("--git", self.repository), ()):  # made, kept, and made by time
            self.runs(0, "wakepath-reporter", "--no-config", "-q", "--store", self.root, "--out", out, *words)
            for page in ("index.html", "v2/index.html", *["v2/main/compare.html"] * bool(words)):
                with open(f"{out}/{page}", encoding="utf-8") as file:
                    text = file.read()
                self.assertEqual("“second  [31mred” by Ada L, 2026-02-02, on main" in text, bool(words), page)
            with open(out + "/index.html", encoding="utf-8") as file:
                text = file.read()
            self.assertIn("0123456789ab “kept   by record”, on topic", text)
            self.assertEqual("“first &lt;b&gt;”" in text, bool(words))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
