#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath-store import, and references where a release is asked for: store_import_test.py BIN."""
import glob
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from store_case import BIN, StoreCase, ago


class ImportTest(StoreCase):
    def capture(self, name, release=None, seed=1):
        folder = f"{self.holder.name}/{name}"
        os.mkdir(folder)
        subprocess.run([BIN + "/fleetgen", "--out", folder, "--seconds", "2", "--seed", str(seed),
                        *(["--release", release] if release else [])], check=True, timeout=60)
        return sorted(glob.glob(folder + "/*.capture"))[0]

    def take(self, status, *words):
        return self.says(status, "import", *words, "--into", self.root, "--aggregate", "web=comm=web", "--aggregate", "db=comm=db")

    def metadata(self, release):
        return {row["key"]: row["value"] for row in self.json("metadata", "ls", self.root + "/" + release)}

    def test_capture(self):
        capture = self.capture("one", "v1")
        self.take(0, capture, "--label", "machine=left", "--label", "run=3")
        total = self.total("v1", "web")
        self.assertGreater(total, 10 ** 9)
        said = self.metadata("v1")
        self.assertEqual((said["label.machine"], said["label.run"]), ("left", "3"))
        origin = {key.split(".")[-1]: value for key, value in said.items() if key.startswith("import.")}
        self.assertEqual(origin, {"from": os.path.basename(capture), "release": "v1"})
        before = self.values()
        self.assertIn("has it already", self.take(0, capture, "--label", "run=4").stdout)
        self.assertEqual(self.values(), before, "what is there is neither counted again nor overwritten")
        self.says(0, "verify", self.root)

    def test_system_window(self):
        capture, window, kept = self.capture("one", "v1"), self.holder.name + "/window", self.holder.name + "/kept"
        other = self.capture("two", "v1", seed=2)
        for path in (window, kept):
            with open(path, "w", encoding="ascii") as file:
                file.write("of another import")
        for words, text in (((capture, other, "--system-window", kept), "is of one capture"),
                            ((self.holder.name, "--system-window", kept), "is of a capture"),
                            ((capture, "--system-window", capture), "would be written over")):
            self.assertIn(text, self.take(64, *words).stderr)
        self.assertFalse(os.path.exists(self.root))
        self.take(0, capture, "--system-window", window)
        with open(window, "rb") as file:
            self.assertNotIn(b"of another import", file.read())
        self.assertIn("needs a store without it", self.take(1, capture, "--system-window", kept).stderr)
        with open(other, "r+b") as file:
            file.truncate(os.path.getsize(other) * 2 // 3)
        self.take(1, other, "--system-window", window)
        self.assertFalse(os.path.exists(window), "what cannot be imported leaves no old one")
        with open(kept, encoding="ascii") as file:
            self.assertEqual(file.read(), "of another import")

    def test_origin_is_checked(self):
        capture = self.capture("one", "v1")
        self.assertIn("recorded as release 'v1', not 'v2'", self.take(1, capture, "--release", "v2").stderr)
        self.assertFalse(os.path.exists(self.root))
        self.take(0, capture, "--release", "v2", "--force")
        self.assertGreater(self.total("v2", "web"), 10 ** 9)
        self.assertEqual([row["release"] for row in self.json("releases", self.root)], ["v2"])
        self.assertIn("is in release 'v2' already", self.take(1, capture).stderr)
        self.take(0, capture, "--force")
        self.assertEqual(self.total("v1", "web"), self.total("v2", "web"))

    def test_bad_input_is_one_line(self):
        """A selector that fits nobody adds nothing; what another version wrote is not touched."""
        capture = self.capture("one", "v1")
        said = self.take(0, capture, "--aggregate", "none=comm=nobody").stdout.splitlines()
        self.assertIn(f"{capture}: nothing that was recorded fits --aggregate 'none=comm=nobody'", said)
        self.assertFalse([line for line in said if "web=comm=web" in line], said)
        rows = json.loads(self.take(0, capture, "--aggregate", "none=comm=nobody", "--json").stdout)
        self.assertIn("none", rows[0]["unmatched"])
        self.assertNotIn("web", rows[0]["unmatched"])
        before = self.total("v1", "web")
        kept = self.values()
        for place, byte, text in ((3, b"2", "does not start with WPF1"), (4, b"\x09", "wire version 9, this side speaks version 1")):
            with open(capture, "rb") as file:
                bytes_ = bytearray(file.read())
            bytes_[place:place + 1] = byte
            with open(self.holder.name + "/newer", "wb") as file:
                file.write(bytes_)
            complaint = self.take(1, self.holder.name + "/newer").stderr
            self.assertIn(text, complaint)
            self.assertEqual(complaint.count("\n"), 1, complaint)
        self.assertEqual(self.values(), kept)
        self.assertEqual(self.total("v1", "web"), before)

    def test_a_selector_that_is_none_is_told_in_one_line(self):
        capture = self.capture("one", "v1")
        for selector, text in (("x=colour=blue", "'colour=blue' is not a selector term"), ("x", "--aggregate takes NAME=SELECTOR, not 'x'")):
            said = self.says(64, "import", capture, "--into", self.root, "--aggregate", selector)
            self.assertIn(text, said.stderr.splitlines()[0])
            self.assertFalse(os.path.exists(self.root))

    def test_what_fits_nothing_adds_nothing(self):
        """No root, no session that a right selector would find there already; one line. Beside a capture that fits, it is told."""
        captures = [self.capture("one", "v1"), self.capture("two", "v1", seed=2)]
        nobody = ("--aggregate", "none=comm=nobody", "--aggregate", "two=pid=1+2")
        for words in (captures[:1], captures, (captures[0], "--json")):
            said = self.says(1, "import", *words, "--into", self.root, *nobody)
            self.assertEqual((said.stdout, said.stderr),
                             ("", "wakepath-store: error: nothing that was recorded fits --aggregate 'none=comm=nobody', 'two=pid=1+2'\n"))
            self.assertFalse(os.path.exists(self.root))
        self.take(0, captures[0])
        before = self.values()
        said = self.says(1, "import", captures[1], "--into", self.root, *nobody)
        self.assertEqual(said.stderr.count("\n"), 1, said.stderr)
        self.assertEqual(self.values(), before)
        said = self.says(0, "import", *captures, "--into", self.root, *nobody).stdout.splitlines()
        self.assertEqual(said, [f"{captures[0]}: release v1 has it already", f"{captures[0]}: nothing that was recorded fits --aggregate 'none=comm=nobody'",
                                f"{captures[0]}: nothing that was recorded fits --aggregate 'two=pid=1+2'",
                                f"{captures[1]}: nothing that was recorded fits --aggregate 'none=comm=nobody'",
                                f"{captures[1]}: nothing that was recorded fits --aggregate 'two=pid=1+2'"])
        self.assertEqual(self.values(), before)
        before = self.total("v1", "web")
        self.take(0, captures[1])
        self.assertGreater(self.total("v1", "web"), before)

    def test_without_a_release(self):
        capture = self.capture("one")
        self.assertIn("give --release", self.take(1, capture).stderr)
        self.take(0, capture, "--release", "v3")
        self.assertGreater(self.total("v3", "web"), 10 ** 9)

    def test_no_capture(self):
        path = self.holder.name + "/text"
        with open(path, "w", encoding="ascii") as file:
            file.write("not a capture at all, but long enough to be looked at\n")
        self.assertIn("is not a capture", self.take(1, path).stderr)
        self.assertIn("KEY=VALUE", self.take(64, path, "--label", "nothing").stderr)
        self.says(64, "import", path)  # where to?

    def test_cut_capture(self):
        capture = self.capture("one", "v1")
        whole = self.holder.name + "/whole.capture"
        shutil.copy(capture, whole)
        os.truncate(capture, os.path.getsize(capture) * 2 // 3)
        said = self.take(1, capture).stderr
        self.assertRegex(said, "^wakepath-store: error: the collector failed: the capture is damaged at byte [0-9]+, .*\n$")
        self.take(0, whole)
        self.says(0, "verify", self.root)
        other = self.holder.name + "/other"
        self.says(0, "import", whole, "--into", other, "--aggregate", "web=comm=web", "--aggregate", "db=comm=db")
        self.assertEqual(self.total("v1", "web"), self.total("v1", "web", other))

    def test_root(self):
        other = self.holder.name + "/other"
        for release in ("v1", "v2"):
            self.make(release, f"report:main:{ago(1)}:7", root=other)
        self.take(0, other + "/v2", "--label", "from=lab")
        self.assertEqual([row["release"] for row in self.json("releases", self.root)], ["v2"])
        self.assertEqual(self.metadata("v2")["label.from"], "lab")
        self.assertIn("recorded as release 'v1'", self.take(1, other + "/v1", "--release", "v9").stderr)
        self.assertIn("name one of them", self.take(1, other, "--release", "v9").stderr)
        self.take(0, other + "/v1", "--release", "v9", "--force")
        self.assertEqual(self.total("v9", "main"), self.total("v1", "main", other))
        self.assertIn("has it already", self.take(0, other + "/v2").stdout)
        before = self.values()
        self.assertIn("is in release 'v9' already", self.take(1, other + "/v1").stderr)
        self.assertEqual(self.values(), before, "what would count in two releases is not written")
        self.take(0, other + "/v1", "--force")
        self.assertEqual(self.total("v1", "main"), self.total("v9", "main"))
        self.assertIn("into itself", self.take(1, self.root).stderr)

    def aggregate(self, capture, *options):
        """Into the store by an aggregator of our own, as a live session comes."""
        down, up = os.pipe()
        endpoint = f"ipc://{self.holder.name}/socket"
        aggregator = subprocess.Popen([BIN + "/wakepath-aggregator", "--no-config", "--bind", endpoint, "--store", self.root, "--aggregate", "web=comm=web",
                                       "--exit-after-sessions", "1", "--log-level", "warn", "--ready-fd", str(up), *options], pass_fds=[up])
        os.close(up)
        self.assertTrue(os.read(down, 6))
        os.close(down)
        subprocess.run([BIN + "/wakepath-collector", "--no-config", "--source", f"capture:{capture}", "--connect", endpoint, "--spool", "none",
                        "--log-level", "warn"], check=True, timeout=120)
        self.assertEqual(aggregator.wait(timeout=120), 0)

    def test_labels_of_an_aggregator(self):
        """It says them of each release; what somebody says later holds."""
        self.aggregate(self.capture("one", "v1"), "--label", "team=search", "--label", "rack=7=left")
        said = self.metadata("v1")
        self.assertEqual((said["label.team"], said["label.rack"]), ("search", "7=left"))
        self.says(0, "metadata", "set", self.root + "/v1", "label.team", "shop", "--now", "4000000000")
        self.aggregate(self.capture("two", "v1", seed=2), "--label", "team=other")
        self.assertEqual(self.metadata("v1")["label.team"], "shop")
        for label in ("nothing", "=x", "k" * 129 + "=x"):
            run = subprocess.run([BIN + "/wakepath-aggregator", "--no-config", "--bind", "ipc:///nowhere", "--store", self.root, "--label", label],
                                 capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(run.returncode, 64)
            self.assertIn("KEY=VALUE", run.stderr)

    def test_one_recording_by_two_ways(self):
        """As a capture, and in a store that somebody else has made of it."""
        capture = self.capture("one", "v1")
        other = self.holder.name + "/other"
        self.says(0, "import", capture, "--into", other, "--shard", "live", "--aggregate", "web=comm=web")
        self.take(0, capture)
        total = self.total("v1", "web")
        for command in ("import", "merge"):
            self.assertIn("would be counted twice", self.says(1, command, other, "--into", self.root).stderr)
        self.assertEqual(self.total("v1", "web"), total)
        both = self.holder.name + "/both"
        self.says(0, "import", other, "--into", both)
        self.assertIn("has it already", self.says(0, "import", capture, "--into", both).stdout)
        self.assertIn("has it already", self.says(0, "import", other, "--into", both).stdout, "the same shard is no second way")
        self.assertEqual(self.total("v1", "web", both), total)
        self.says(0, "import", other, "--into", self.root, "--force")
        self.assertEqual(self.total("v1", "web"), 2 * total)
        self.says(0, "verify", self.root)

    def children(self, pid):
        """All processes below this one, as (pid, name)."""
        found = []
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path, encoding="ascii", errors="replace") as file:
                    text = file.read()
            except OSError:
                continue
            if int(text.rsplit(")", 1)[1].split()[1]) == pid:
                child = int(text.split()[0])
                found += [(child, text[text.index("(") + 1:text.rindex(")")])] + self.children(child)
        return found

    def interrupt(self, words, whom, after_s, environment):
        """Kills the import, or one of its programs, `after_s` after the folder with its socket is there."""
        tmp = environment["TMPDIR"]
        run = subprocess.Popen([BIN + "/wakepath-store", *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while run.poll() is None and not glob.glob(tmp + "/wakepath-import-*/s"):
            time.sleep(0.002)
        time.sleep(after_s)
        below = self.children(run.pid)
        for pid in [run.pid] if whom == "import" else [pid for pid, name in below if name.startswith("wakepath-" + whom[:6])]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        said = run.communicate(timeout=200)[1]
        for pid, _ in below:  # they end with it, and what they had is in the store
            while os.path.exists(f"/proc/{pid}"):
                time.sleep(0.01)
        return said

    def test_interrupted(self):
        """At many points, whoever is killed: it ends, and run again nothing is there twice and nothing is left over."""
        capture = self.capture("one", "v1")
        tmp = self.holder.name + "/tmp"
        os.mkdir(tmp)
        os.mkdir(tmp + "/wakepath-import-Foreig", 0o700)
        with open(tmp + "/wakepath-import-Foreig/notes", "w", encoding="ascii"):
            pass
        environment = dict(os.environ, TMPDIR=tmp)
        whole = self.holder.name + "/whole"
        options = ["--aggregate", "web=comm=web", "--aggregate", "db=comm=db"]
        began = time.monotonic()
        self.says(0, "import", capture, "--into", whole, *options)
        took = time.monotonic() - began
        total = self.total("v1", "web", whole)
        for turn, (whom, share) in enumerate((whom, share) for whom in ("import", "aggregator", "collector")
                                             for share in (0, 0.3, 0.6, 0.8, 0.9, 0.95, 1.0)):
            root = f"{self.holder.name}/root{turn}"
            words = ["import", capture, "--into", root, *options]
            said = self.interrupt(words, whom, share * took, environment)
            run = subprocess.run([BIN + "/wakepath-store", *words], env=environment, capture_output=True, text=True, timeout=200, check=False)
            self.assertEqual(run.returncode, 0, (whom, share, said, run.stderr))
            self.assertEqual(self.total("v1", "web", root), total, (whom, share))
            origin = [row["key"] for row in self.json("metadata", "ls", root + "/v1") if row["key"].startswith("import.")]
            self.assertEqual(len(origin), 2, (whom, share, origin))
            self.assertEqual(os.listdir(tmp), ["wakepath-import-Foreig"], (whom, share))
            shutil.rmtree(root)
        self.assertEqual(os.listdir(tmp + "/wakepath-import-Foreig"), ["notes"], "what it did not make stays")


if __name__ == "__main__":
    unittest.main(argv=["store_import_test"], verbosity=2)
