#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A site written again and again, as cron does: by several processes, beside another run, before a reader at a terminal, compressed,
of many releases, of a store that is being written, of one that is empty or damaged. regenerate_test.py BIN_DIR SAMPLE_TOOL"""
import contextlib
import fcntl
import filecmp
import gzip
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BIN, SAMPLE = sys.argv.pop(1), sys.argv.pop(1)
HERE = os.path.dirname(os.path.abspath(__file__))
REPORTER = f"{BIN}/wakepath-reporter"
RELEASES = 1000 if os.environ.get("WP_LONG") else 120


def files_of(folder):
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            with open(f"{at}/{name}", "rb") as file:
                found[os.path.relpath(f"{at}/{name}", folder)] = file.read()
    return found


class Regenerate(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="wp-regenerate-")
        self.folder = self.holder.name
        self.store = self.folder + "/store"

    def tearDown(self):
        self.holder.cleanup()

    def put(self, kind, *more):
        subprocess.run([SAMPLE, kind, self.store, *more], check=True)

    def settle(self):
        for release in os.listdir(self.store):
            path = f"{self.store}/{release}/data.mdb"
            while os.path.exists(path) and time.time() - os.stat(path).st_ctime < 2.2:
                time.sleep(0.1)

    def write(self, out, *flags, code=0):
        run = subprocess.run([REPORTER, "--store", self.store, "--out", f"{self.folder}/{out}", *flags], capture_output=True, text=True,
                             timeout=800)
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stderr

    def check(self, out):
        run = subprocess.run([sys.executable, HERE + "/site_check.py", f"{self.folder}/{out}"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout[:2000])

    def same(self, left, right):
        left, right = files_of(f"{self.folder}/{left}"), files_of(f"{self.folder}/{right}")
        self.assertEqual(sorted(left), sorted(right))
        self.assertEqual([name for name in left if left[name] != right[name]], [])

    # --- several processes ---

    def some_releases(self):
        for i in range(6):
            self.put("hostile" if i == 3 else "service-slower" if i == 4 else "service", f"v{i}")
        self.put("fleet", "v6", "fleet")
        self.put("plain", "v6")
        self.settle()

    def test_jobs_make_the_same_site(self):
        self.some_releases()
        self.write("one")
        parts = self.folder + "/.four.new-parts"
        run = subprocess.Popen([REPORTER, "--store", self.store, "--out", self.folder + "/four", "--jobs", "4", "--quiet"])
        seen = set()
        while run.poll() is None:
            with contextlib.suppress(FileNotFoundError):  # not yet there, or put together meanwhile
                seen |= set(os.listdir(parts))
        self.assertEqual(run.returncode, 0)
        self.assertTrue({name for name in seen if re.fullmatch(r"v\d", name)}, seen)  # made by others, and put together
        self.same("one", "four")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])
        # Only what changed is made, by one or by many.
        self.put("service-equal", "v2")
        self.put("plain", "v5", "other")
        self.settle()
        self.assertRegex(self.write("four", "--jobs", "3"), r"unchanged=\d\d")
        self.write("one")
        self.same("one", "four")

    def test_jobs_without_what_a_crash_left(self):
        self.put("plain")
        self.put("plain", "v2")
        self.settle()
        os.makedirs(self.folder + "/.site.new-parts/v1/v1/main")
        with open(self.folder + "/.site.new-parts/v1/v1/main/index.html", "w", encoding="utf-8") as file:
            file.write("of another time")
        self.assertIn(".site.new-parts", self.write("site", "--jobs", "2", code=1))  # it may be anybody's
        with open(self.folder + "/.site.new-parts/.wakepath-new", "w", encoding="utf-8"):
            pass
        self.write("site", "--jobs", "2")
        self.assertFalse(os.path.exists(self.folder + "/.site.new-parts"))
        self.write("one")
        self.same("one", "site")

    def test_a_killed_run_leaves_the_old_site_and_no_worker(self):
        self.some_releases()
        self.write("site", "--release", "v6")
        before = files_of(self.folder + "/site")
        run = subprocess.Popen([REPORTER, "--store", self.store, "--out", self.folder + "/site", "--jobs", "2", "--quiet"],
                               stdout=subprocess.PIPE)
        while run.poll() is None and not os.path.isdir(self.folder + "/.site.new-parts"):
            pass
        run.kill()
        run.wait()
        self.assertEqual(run.stdout.read(), b"")  # the pipe's other ends are closed: nobody lives on
        run.stdout.close()
        if run.returncode:
            self.assertEqual(files_of(self.folder + "/site"), before)
        self.write("site", "--jobs", "2")
        self.write("one")
        self.same("one", "site")

    def test_numbers_of_jobs(self):
        self.put("plain")
        for bad in ("-1", "x", "257", "", "2x"):
            self.assertIn("number of jobs", self.write("site", "--jobs", bad, code=64))
        self.write("site", "--jobs", "0")

    # --- beside another run ---

    def test_overlapping_runs_wait_or_leave(self):
        self.put("plain")
        with open(f"{self.folder}/.site.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("another reporter is writing", self.write("site", "--no-wait", code=1))
            begun = time.monotonic()
            self.assertIn("another reporter is writing", self.write("site", "--wait", "1", code=1))
            self.assertGreaterEqual(time.monotonic() - begun, 1)
            self.assertFalse(os.path.exists(self.folder + "/site"))
            waiting = [subprocess.Popen([REPORTER, "--store", self.store, "--out", self.folder + "/site", "--quiet", *flags])
                       for flags in ((), ("--wait", "600"))]
            time.sleep(0.3)
            self.assertEqual([run.poll() for run in waiting], [None, None])
        self.assertEqual([run.wait(60) for run in waiting], [0, 0])
        self.check("site")

    # --- who looks on ---

    def test_a_bar_on_a_terminal_and_one_line_elsewhere(self):
        for i in range(4):
            self.put("plain", f"v{i}")
        self.settle()
        lines = self.write("cron").splitlines()
        self.assertEqual(len(lines), 1)
        self.assertIn("releases=4", lines[0])
        self.assertEqual(self.write("quiet", "--quiet"), "")
        for jobs in ("1", "2"):
            leader, follower = pty.openpty()
            run = subprocess.Popen([REPORTER, "--store", self.store, "--out", f"{self.folder}/tty{jobs}", "--jobs", jobs], stderr=follower)
            os.close(follower)
            said = b""
            try:
                while piece := os.read(leader, 4096):
                    said += piece
            except OSError:
                pass  # the other end is closed
            os.close(leader)
            self.assertEqual(run.wait(), 0)
            self.assertRegex(said, rb"\r\[#{7}\.{23}\]  25 %  1 of 4 releases")
            self.assertRegex(said, rb"100 %  4 of 4 releases\r\x1b\[K")
            self.assertEqual(said.split(b"\x1b[K")[-1].count(b"\n"), 1)

    # --- compressed ---

    def test_gzip_beside_the_files(self):
        self.put("plain")
        self.put("service", "v2")
        self.settle()
        self.write("plain-site")
        self.write("site", "--gzip")
        made, plain = files_of(self.folder + "/site"), files_of(self.folder + "/plain-site")
        packed = {name for name in made if name.endswith(".gz")}
        self.assertGreater(len(packed), 40)
        for name in packed:
            self.assertEqual(gzip.decompress(made[name]), made[name[:-3]], name)
            self.assertLess(len(made[name]), len(made[name[:-3]]))
        hidden = {".wakepath-state", ".wakepath-site"}
        self.assertEqual({name: text for name, text in made.items() if name not in packed and os.path.basename(name) not in hidden},
                         {name: text for name, text in plain.items() if os.path.basename(name) not in hidden})
        self.assertRegex(self.write("site", "--gzip"), r"changed=0 ")
        self.write("site")  # without: they go
        self.assertEqual([name for name in files_of(self.folder + "/site") if name.endswith(".gz")], [])

    # --- what a store may be ---

    def test_many_releases(self):
        self.put("one", "v0")
        for i in range(1, RELEASES):  # a session's copy in another release is no copy of it in the same
            shutil.copytree(f"{self.store}/v0", f"{self.store}/v{i}")
        said = self.write("site", "--jobs", "2")
        self.assertIn(f"releases={RELEASES}", said)
        with open(self.folder + "/site/index.html", encoding="utf-8") as file:
            index = file.read()
        self.assertLess(len(index), 2000 * RELEASES)
        self.assertEqual(index.count('class="card-facts"'), 40) # the others stand in a table, which can be filtered
        self.assertEqual(index.count("<tr><td"), RELEASES - 40)
        for i in (0, 1, RELEASES // 2, RELEASES - 1):
            self.assertIn(f'href="v{i}/main/index.html"', index)
            self.assertTrue(os.path.exists(f"{self.folder}/site/v{i}/main/flame.html"))

    def test_an_empty_store_and_one_sample(self):
        os.makedirs(self.store)
        self.assertIn("releases=0", self.write("site"))
        self.check("site")
        with open(self.folder + "/site/index.html", encoding="utf-8") as file:
            self.assertIn("The store has no reports yet", file.read())
        self.put("one")
        self.write("site")
        self.check("site")

    def test_a_damaged_value_is_marked_on_the_pages(self):
        self.put("plain")
        path = self.store + "/v1/data.mdb"
        with open(path, "rb") as file:
            stored = bytearray(file.read())
        kinds = {}
        for match in re.finditer(rb"WPV1", bytes(stored)):
            kinds.setdefault(stored[match.start() + 4], []).append(match.start())
        for kind in (10, 12):  # a trace, exemplars
            for at in kinds[kind]:
                stored[at + 200] ^= 0xff
        with open(path, "wb") as file:
            file.write(stored)
        self.assertIn("damaged=", self.write("site"))
        self.check("site")
        for page in ("index", "chronology", "exemplars"):
            with open(f"{self.folder}/site/v1/main/{page}.html", encoding="utf-8") as file:
                text = file.read()
            self.assertIn("Damaged and left out: trace", text)
            self.assertIn("Damaged and left out: exemplars", text)

    def test_a_store_that_is_being_written(self):
        self.put("plain")
        writer = subprocess.Popen(["sh", "-c", f'while :; do "{SAMPLE}" plain "{self.store}" v1 main $((1790000000 + (i += 3600))) || exit 1; done'])
        try:
            totals = []
            for i in range(4):
                self.write(f"site{i}")
                self.check(f"site{i}")
                with open(f"{self.folder}/site{i}/v1/main/summary.json", encoding="utf-8") as file:
                    totals.append(int(re.search(r'"total_ns": ?(\d+)', file.read())[1]))
            self.assertIsNone(writer.poll())
        finally:
            writer.kill()
            writer.wait()
        self.assertEqual(totals, sorted(totals))
        self.assertEqual([total % 3219000000 for total in totals], [0] * 4)  # whole deltas, never half of one


if __name__ == "__main__":
    unittest.main(verbosity=2)
