#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath-reporter as scripts use it. program_test.py BIN_DIR SAMPLE_TOOL"""
import fcntl
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

BIN, SAMPLE = sys.argv[1], sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
CATEGORIES = """understood_functions blocking_io running_not_sampled message_in_flight io_queue scheduler remote_not_traced
deliberate_sleep hardware_wait involuntary kernel_block timeout other_path unaccounted""".split()


def reporter(*args):
    return subprocess.run([f"{BIN}/wakepath-reporter", *args], capture_output=True, text=True, timeout=120)


def same_tree(left, right):
    compared = filecmp.dircmp(left, right, ignore=[])
    if compared.left_only or compared.right_only or compared.funny_files:
        return False
    _, mismatch, errors = filecmp.cmpfiles(left, right, compared.common_files, shallow=False)
    return not mismatch and not errors and all(same_tree(f"{left}/{d}", f"{right}/{d}") for d in compared.common_dirs)


class Program(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="wp-reporter-")
        self.folder = self.holder.name
        self.store = self.folder + "/store"
        self.put("plain", "v1")

    def tearDown(self):
        self.holder.cleanup()

    def put(self, kind, *names):
        subprocess.run([SAMPLE, kind, self.store, *names], check=True)

    def test_usage(self):
        for args in (["--no-such-flag"], [], ["--store", self.store], ["--store", self.store, "--format", "pdf"],
                     ["--store", self.store, "--format", "json", "x"],
                     ["--store", self.store, "--format", "json", "--release", "../x"],
                     ["--store", self.store, "--format", "json", "--since", "yesterday"], ["--store", self.store, "--since", "1790000001", "--until", "1790000000"]):
            run = reporter(*args)
            self.assertEqual(run.returncode, 64, (args, run.stderr))
            self.assertTrue(run.stderr)
        self.assertEqual(reporter("--version").returncode, 0)
        self.assertIn("--store", reporter("--help").stdout)

    def test_failures_are_one_line_that_names_the_thing(self):
        for args, name in ((["--store", "/no/such/store"], "/no/such/store"), (["--store", self.store, "--release", "v9"], "v9"),
                           (["--store", self.store, "--aggregate", "nobody"], "nobody")):
            run = reporter(*args, "--format", "json")
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn(name, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
            self.assertEqual(run.stdout, "")
        out = self.folder + "/none"
        self.assertEqual(reporter("--store", self.store, "--release", "v9", "--out", out).returncode, 1)
        self.assertFalse(os.path.exists(out))

    def test_summary_is_the_contract(self):
        run = reporter("--store", self.store, "--release", "v1", "--aggregate", "main", "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        summary = json.loads(run.stdout)
        self.assertEqual((summary["schema"], summary["release"], summary["aggregate"], summary["hosts"]), (1, "v1", "main", 1))
        self.assertEqual(list(summary["categories"]), CATEGORIES)
        self.assertEqual(sum(summary["categories"].values()), summary["total_ns"])
        self.assertAlmostEqual(summary["accounted_percent"],
                               100 * (1 - summary["categories"]["unaccounted"] / summary["total_ns"]), places=4)
        self.assertEqual(set(summary["processes"][0]), {"host", "comm", "pid", "total_ns", "running_ns"})
        self.assertEqual(summary["events"]["total"], 48210 + 24007 + 2714)
        self.assertEqual(summary["events"]["dropped"], 12)
        self.assertEqual(len(summary["explanations"]), 5)
        self.assertEqual(summary["coverage"], 1.0)

    def test_folded_sums_to_the_total(self):
        run = reporter("--store", self.store, "--format", "folded")
        total = json.loads(reporter("--store", self.store, "--format", "json").stdout)["total_ns"]
        lines = run.stdout.splitlines()
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in lines), total)
        self.assertTrue(all(line.startswith("[") for line in lines))

    def test_text_is_for_people(self):
        run = reporter("--store", self.store, "--format", "text")
        self.assertIn("make spends 46 % of its time", run.stdout)
        self.assertTrue(all(len(line) <= 78 for line in run.stdout.splitlines()))

    def test_the_recording_in_this_folder(self):
        def here(*args):
            return subprocess.run([f"{BIN}/wakepath-reporter", *args], capture_output=True, text=True, timeout=120, cwd=self.folder)
        self.assertEqual(here("query").returncode, 64)
        os.mkdir(self.folder + "/wakepath-report")
        os.rename(self.store, self.folder + "/wakepath-report/store")
        self.assertIn("make spends 46 % of its time", here().stdout)
        self.assertIn("main in release v1", here("query").stdout)
        self.assertEqual(here("query", "--release", "v2").stderr.strip().split(": ", 2)[-1],
                         "store wakepath-report/store has no release v2: did you mean v1?")
        self.assertIn("no aggregate man: did you mean main?", here("check", "v1:man", "v1").stderr)
        self.assertIn("no release v3 in store wakepath-report/store: did you mean v1?", here("check", "v1", "v3").stderr)
        self.assertEqual(here("check", "v1", "v1").returncode, 0)

    def test_site_is_byte_identical_and_checked(self):
        self.put("hostile", "v1", "hostile")
        self.put("fleet", "v1", "fleet")
        self.put("hostile", "index.html", "assets")
        self.put("plain", "v2", "other")
        one, two = self.folder + "/one", self.folder + "/two"
        for out in (one, two, two):
            self.assertEqual(reporter("--store", self.store, "--out", out, "--quiet").returncode, 0)
        self.assertTrue(same_tree(one, two))
        check = subprocess.run([sys.executable, HERE + "/site_check.py", one], capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout)

    def checked(self, site):
        check = subprocess.run([sys.executable, HERE + "/site_check.py", site], capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout)

    def test_nothing_and_next_to_nothing(self):
        empty, site = self.folder + "/empty", self.folder + "/site"
        os.mkdir(empty)
        self.assertEqual(reporter("--store", empty, "--out", site, "--quiet").returncode, 0)
        self.checked(site)
        with open(site + "/index.html", encoding="utf-8") as file:
            self.assertIn("The store has no reports yet.", file.read())
        subprocess.run([SAMPLE, "one", empty, "v1"], check=True)
        self.assertEqual(reporter("--store", empty, "--out", site, "--quiet").returncode, 0)
        self.checked(site)
        with open(site + "/v1/main/index.html", encoding="utf-8") as file:
            self.assertIn("100 % of the time (1 ns) is one itself", file.read())

    def test_a_store_is_written_meanwhile(self):
        site = self.folder + "/site"
        with subprocess.Popen(["sh", "-c", 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "$0" service "$1" v$((i % 3)) main $((1790000000 + i * 3600)) '
                               "|| exit 1; done", SAMPLE, self.store]) as writer:
            rounds = 0
            while writer.poll() is None or not rounds:
                done = reporter("--store", self.store, "--out", site, "--quiet")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.checked(site)
                rounds += 1
            self.assertEqual(writer.returncode, 0)
        one = self.folder + "/one"
        for out in (site, one):  # what was made on the way leaves no trace
            self.assertEqual(reporter("--store", self.store, "--out", out, "--quiet").returncode, 0)
        self.assertTrue(same_tree(site, one))

    def test_unchanged_site_is_not_touched(self):
        out = self.folder + "/site"
        reporter("--store", self.store, "--out", out, "--quiet")
        before = os.stat(out).st_ino, os.stat(out + "/index.html").st_mtime_ns
        run = reporter("--store", self.store, "--out", out)
        self.assertIn("changed=0", run.stderr)
        self.assertEqual(before, (os.stat(out).st_ino, os.stat(out + "/index.html").st_mtime_ns))

    def settle(self):
        """As if the stores had been written a while ago: what has just changed is read again each time."""
        for release in os.listdir(self.store):
            path = f"{self.store}/{release}/data.mdb"
            while os.path.exists(path) and time.time() - os.stat(path).st_ctime < 2.2:
                time.sleep(0.1)

    def built(self, out, *flags):
        run = reporter("--store", self.store, "--out", out, *flags)
        self.assertEqual(run.returncode, 0, run.stderr)
        fresh = tempfile.mkdtemp(dir=self.folder) + "/site"  # whatever was kept, a new site has the same bytes
        reporter("--store", self.store, "--out", fresh, "--quiet", *flags)
        self.assertTrue(same_tree(out, fresh))
        return {name: int(value) for name, value in re.findall(r"(changed|unchanged|releases)=(\d+)", run.stderr)}

    def test_only_what_changed_is_built(self):
        out = self.folder + "/site"
        for release in ("v2", "v3", "v4"):
            self.put("plain", release)
        self.put("fleet", "v3", "fleet")
        self.settle()
        files = self.built(out)["changed"]
        page = f"{out}/v1/main/index.html"
        before = os.stat(page).st_ino
        self.assertEqual(self.built(out), {"releases": 4, "changed": 0, "unchanged": files})
        self.put("plain", "v4")
        counts = self.built(out)
        self.assertLess(counts["changed"], files / 2)
        self.assertEqual(os.stat(page).st_ino, before)
        self.settle()
        self.built(out)
        os.unlink(page)  # a page that somebody removed comes back
        self.assertGreaterEqual(self.built(out)["changed"], 1)
        self.assertTrue(os.path.exists(page))
        shutil.rmtree(self.store + "/v2")  # and one that has lost its release goes
        self.built(out)
        self.assertFalse(os.path.exists(out + "/v2"))
        self.built(out, "--threshold", "50")

    def test_parts_make_the_site_of_one_run(self):
        parts, page = self.folder + "/parts", "main/flame.html"
        for release in ("v2", "v3"):
            self.put("service", release)
        self.settle()
        for release in ("v1", "v2", "v3"):
            run = reporter("--store", self.store, "--release", release, "--out", f"{parts}/{release}", "--quiet")
            self.assertEqual(run.returncode, 0, run.stderr)
        self.built(self.folder + "/joined", "--parts", parts)
        with open(f"{parts}/v2/v2/{page}", "a", encoding="utf-8") as file:
            file.write("<!-- made elsewhere -->")

        def joined(name, *flags):  # whether that page is the part's
            out = self.folder + "/" + name
            run = reporter("--store", self.store, "--out", out, "--quiet", "--parts", parts, *flags)
            self.assertEqual(run.returncode, 0, run.stderr)
            with open(f"{out}/v2/{page}", encoding="utf-8") as file:
                return file.read().endswith("<!-- made elsewhere -->")
        self.assertTrue(joined("taken"))
        self.assertFalse(joined("otherwise", "--threshold", "50"))
        for other in ("v1", "v3"):  # with one of them v2 is compared
            self.put("service-equal", other)
        self.assertFalse(joined("stale"))
        os.unlink(f"{parts}/v3/v3/{page}")
        shutil.rmtree(f"{parts}/v1")
        self.built(self.folder + "/holes", "--parts", parts)

    def test_a_state_that_is_none_is_not_believed(self):
        out = self.folder + "/site"
        self.put("plain", "v2")
        self.settle()
        self.built(out)
        with open(out + "/.wakepath-state", "rb") as file:
            state = file.read()
        lines = state.split(b"\n")
        for bad in (b"", state[:-30], lines[0] + b"\nA\tx\n", lines[0] + b"\nR\t%zz\t\t\t\t\n", b"\n".join(
                line.replace(b"\t", b"\tx") if line[:1] == b"A" else line for line in lines), b"\0" * 5000,
                state.replace(b"A\t", b"B\t")):
            os.unlink(out + "/.wakepath-state")
            with open(out + "/.wakepath-state", "wb") as file:
                file.write(bad)
            os.unlink(out + "/v1/main/index.html")
            self.built(out)

    def test_summary_file_prefers_main(self):
        self.put("hostile", "v1", "zzz")
        out = self.folder + "/site"
        self.assertEqual(reporter("--store", self.store, "--release", "v1", "--out", out, "--quiet").returncode, 0)
        with open(out + "/summary.json", encoding="utf-8") as file:
            self.assertEqual(json.load(file)["aggregate"], "main")
        self.put("plain", "v2")
        self.assertEqual(reporter("--store", self.store, "--out", out, "--quiet").returncode, 0)
        self.assertFalse(os.path.exists(out + "/summary.json"))  # two releases: none speaks for all

    def test_store_inside_the_site_stays(self):
        out = self.folder + "/site"
        os.makedirs(out)
        store = out + "/store"
        subprocess.run([SAMPLE, "plain", store], check=True)
        for _ in range(2):
            run = reporter("--store", store, "--out", out, "--quiet")
            self.assertEqual(run.returncode, 0, run.stderr)
            subprocess.run([SAMPLE, "plain", store, "v2"], check=True)
        self.assertTrue(os.path.exists(out + "/index.html"))

    def test_second_writer_leaves_when_told_so(self):
        with open(f"{self.folder}/.site.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            run = reporter("--store", self.store, "--out", self.folder + "/site", "--no-wait")
            self.assertEqual(run.returncode, 1)
            self.assertIn("another reporter", run.stderr)

    def services(self):
        self.put("service", "v1.0")
        self.put("service-equal", "v1.1")
        self.put("service-slower", "v1.2-dirty")

    def check(self, *args):
        return reporter("check", *args, "--store", self.store)

    def test_check_tells_by_its_exit_status(self):
        self.services()
        run = self.check("v1.0", "v1.1")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("Nothing in v1.1 takes longer", run.stdout)
        run = self.check("v1.1", "v1.2-dirty")
        self.assertEqual((run.returncode, run.stderr), (2, ""))
        self.assertIn("web › postgres waits for the disk in ReadBuffer, waited for in query, 19 % longer", " ".join(run.stdout.split()))
        self.assertTrue(all(len(line) <= 100 for line in run.stdout.splitlines()))
        self.assertEqual(self.check("v1.2-dirty", "v1.1", "--ignore", "remote_not_traced", "--threshold", "4").returncode, 0)
        self.assertEqual(self.check("v1.1", "v1.2-dirty", "--threshold", "30").returncode, 0)
        self.assertEqual(self.check().returncode, 2)  # the newest against the one before
        self.assertEqual(self.check("v1.1").returncode, 0)
        self.assertEqual(self.check("v1.2-dirty", "--against", "v1.0").returncode, 2)

    def test_check_for_machines(self):
        self.services()
        run = self.check("v1.1", "v1.2-dirty", "--format", "json")
        found = json.loads(run.stdout)
        self.assertEqual((run.returncode, found["schema"], found["degraded"]), (2, 1, True))
        first = found["hops"][0]
        self.assertEqual((first["name"], first["category"], first["verdict"]), ("web › postgres", "blocking_io", "worse"))
        self.assertLess(first["p_adjusted"], 0.01)
        self.assertAlmostEqual(first["percent"], 20, delta=3)
        run = self.check("v1.1", "v1.2-dirty", "--format", "junit")
        suite = xml.etree.ElementTree.fromstring(run.stdout).find("testsuite")
        self.assertEqual(run.returncode, 2)
        self.assertEqual(int(suite.get("failures")), len(suite.findall("testcase/failure")))
        self.assertEqual(int(suite.get("tests")), len(suite.findall("testcase")))
        self.assertGreater(int(suite.get("failures")), 0)

    def test_check_failures_and_usage(self):
        self.services()
        for args, name in ((("v1.0", "v9"), "v9"), (("v9",), "v9"), (("v1.0:nobody", "v1.1"), "nobody"), (("v1",), "v1"),
                           (("v1.1", "--against", "v9"), "v9"), (("v1.1", "--git", "/no/such"), "/no/such"),
                           (("v1.0", "v1.1/db-7"), "db-7")):
            run = self.check(*args)
            self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (1, "", 1), (args, run.stderr))
            self.assertIn(name, run.stderr)
        for args in (("a", "b", "c"), ("../x", "v1"), ("v1@yesterday", "v1"), ("v1@2026-01-01..never", "v1"), ("v1/", "v1"),
                     ("v1", "v2", "--per", "hour"), ("v1", "v2", "--alpha", "2"), ("v1", "v2", "--threshold", "x"),
                     ("v1", "v2", "--ignore", "nothing"), ("v1", "v2", "--format", "pdf"), ("v1", "v2", "--against", "v1")):
            run = self.check(*args)
            self.assertEqual(run.returncode, 64, (args, run.stderr))
        self.assertEqual(reporter("check", "v1", "v2").returncode, 64)

    def test_other_pairs_are_compared(self):
        self.put("service", "v1.0")
        self.put("service-slower", "v1.0", "canary")
        self.put("service-slower", "v1.0", "later", "1790007200")
        run = self.check("v1.0:main", "v1.0:canary")  # two aggregates of one release
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("canary against main", run.stdout)
        self.put("service-slower", "v2.0", "main", "1790007200")
        self.put("service", "v2.0", "main", "1790000000")
        run = self.check("v2.0@..1790003600", "v2.0@1790003600..")  # two time ranges
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertEqual(self.check("v2.0@..1790003600", "v1.0").returncode, 0)
        self.assertEqual(self.check("v1.0/web-1", "v2.0@1790003600../web-1").returncode, 2)  # one host, and there is no other

    def test_several_stores_are_one(self):
        whole, one, two = self.folder + "/whole", self.folder + "/one", self.folder + "/two"
        for store, kind in ((one, "service"), (two, "service-equal"), (whole, "service"), (whole, "service-equal")):
            subprocess.run([SAMPLE, kind, store, "v1"], check=True)
        subprocess.run([SAMPLE, "plain", two, "v2", "other"], check=True)
        for fmt in ("json", "folded", "text"):
            merged = reporter("--store", one, "--store", two, "--release", "v1", "--format", fmt)
            self.assertEqual(merged.returncode, 0, merged.stderr)
            self.assertEqual(merged.stdout, reporter("--store", whole, "--release", "v1", "--format", fmt).stdout)
        out, again = self.folder + "/site", self.folder + "/again"
        for order, folder in (((one, two), out), ((two, one), again)):
            run = reporter("--store", order[0], "--store", order[1], "--out", folder, "--quiet")
            self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(same_tree(out, again))
        self.assertTrue(os.path.exists(out + "/v1/main/index.html") and os.path.exists(out + "/v2/other/index.html"))
        run = reporter("--store", one, "--store", one + "/.", "--out", out)
        self.assertEqual(run.returncode, 1)
        self.assertIn("twice", run.stderr)

    def test_a_damaged_share_is_said_and_the_other_shown(self):
        one, two = self.folder + "/one", self.folder + "/two"
        for store in (one, two):
            subprocess.run([SAMPLE, "plain", store, "v1"], check=True)
        with open(two + "/v1/data.mdb", "wb") as file:
            file.write(b"no database" * 1000)
        out = self.folder + "/site"
        run = reporter("--store", one, "--store", two, "--out", out)
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(out + "/v1/main/index.html", encoding="utf-8") as file:
            self.assertIn("Damaged and left out", file.read())

    def git(self, *args):
        run = subprocess.run(["git", "-C", self.folder + "/repo", "-c", "user.name=t", "-c", "user.email=t@t", *args],
                             capture_output=True, text=True, check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})
        return run.stdout.strip()

    def history(self):
        """main: v1.0 - x - v1.1 - merge of side; side leaves after v1.0: s1 - s2."""
        os.makedirs(self.folder + "/repo")
        self.git("init", "-q", "-b", "main")
        commit = ("commit", "-q", "--allow-empty", "-m", "c")
        self.git(*commit)
        self.git("tag", "v1.0")
        self.git("checkout", "-q", "-b", "side")
        self.git(*commit, "-m", "s1")
        self.git("tag", "s1")
        self.git(*commit, "-m", "s2")
        self.git("tag", "s2")
        self.git("checkout", "-q", "main")
        self.git(*commit, "-m", "x")
        self.git(*commit, "-m", "v")
        self.git("tag", "v1.1")
        self.git("merge", "-q", "--no-ff", "-m", "m", "side")
        self.git("tag", "v2.0")

    def test_history_orders_releases_and_finds_baselines(self):
        self.history()
        described = self.git("describe", "--always", "s2")
        # Measured in an order that is not theirs, with ids as they come from `git describe`, and one that git does not know.
        for release in ("v2.0", "s2", "v1.0", "v1.1-dirty", "nightly"):
            self.put("service" if release != "s2" else "service-slower", release)
        repo, out = self.folder + "/repo", self.folder + "/site"
        run = reporter("--store", self.store, "--git", repo, "--out", out, "--quiet")
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(out + "/index.html", encoding="utf-8") as file:
            index = file.read()
        places = [index.index(f'href="{release}/') for release in ("v2.0", "s2", "v1.0")]
        self.assertEqual(places, sorted(places))
        self.assertIn("in the order of their history", index)
        self.assertIn("v1.1-dirty (with changes that were not committed)", index)

        def baseline(new, *more):
            run = self.check(new, "--git", repo, "--format", "json", *more)
            return json.loads(run.stdout)["old"]["release"] if run.stdout else run.stderr
        self.assertEqual(baseline("v2.0"), "s2")  # nearest: v1.1 was measured with changes only
        self.assertEqual(baseline("s2"), "v1.0")
        self.assertEqual(baseline("v1.1-dirty"), "v1.0")
        self.put("service", "v1.1")
        self.assertEqual(baseline("v1.1-dirty"), "v1.1")  # its own commit
        self.assertIn(baseline("v2.0"), ("v1.1", "s2"))
        self.assertEqual(baseline("s2", "--against", "main~1"), "v1.1")
        self.assertEqual(baseline("s2", "--against", "main"), "v2.0")
        self.assertIn("nothing measured comes before", baseline("v1.0"))
        self.assertIn("knows no commit", baseline("s2", "--against", "no-such-branch"))
        def sides(*names):
            run = self.check(*names, "--git", repo, "--format", "json")
            return tuple(json.loads(run.stdout)[side]["release"] for side in ("old", "new")) if run.stdout else run.stderr
        # Commits, by whatever name git has for them: the newer one must have been measured, the older one or what it stands on.
        self.assertEqual(sides("main"), ("v1.1", "v2.0") if baseline("v2.0") == "v1.1" else ("s2", "v2.0"))
        self.assertEqual(sides("main~2", "side"), ("v1.0", "s2"))
        self.assertEqual(sides("v1.1", self.git("rev-parse", "main")), ("v1.1", "v2.0"))
        self.git("checkout", "-q", "--detach", "side")
        self.assertEqual(sides("HEAD"), ("v1.0", "s2"))
        self.assertIn("no store has a release main~2: no release was measured at commit main~2", sides("v1.0", "main~2"))
        self.assertIn("knows no commit nosuch", sides("nosuch", "main"))
        self.assertEqual(self.git("cat-file", "-t", described), "commit")
        bare = self.folder + "/bare.git"
        subprocess.run(["git", "clone", "-q", "--bare", repo, bare], check=True, capture_output=True)
        run = self.check("s2", "--git", bare, "--format", "json")
        self.assertEqual(json.loads(run.stdout)["old"]["release"], "v1.0")

    def test_compared_pages_hang_together(self):
        self.services()
        self.put("hostile", "v1.0", "hostile")
        self.put("hostile", "v1.1", "hostile")
        out, narrow = self.folder + "/site", self.folder + "/narrow"
        self.assertEqual(reporter("--store", self.store, "--out", out, "--quiet").returncode, 0)
        self.assertEqual(reporter("--store", self.store, "--release", "v1.1", "--out", narrow, "--quiet").returncode, 0)
        for site in (out, narrow):
            check = subprocess.run([sys.executable, HERE + "/site_check.py", site], capture_output=True, text=True)
            self.assertEqual(check.returncode, 0, check.stdout)
        with open(out + "/v1.2-dirty/main/compare.html", encoding="utf-8") as file:
            page = file.read()
        self.assertIn("v1.2-dirty against v1.1", page)
        self.assertIn("web › postgres waits for the disk in ReadBuffer, waited for in query, 19 % longer", page)
        with open(out + "/v1.2-dirty/main/index.html", encoding="utf-8") as file:
            self.assertIn("Since v1.1: web › postgres waits for the disk", file.read())
        self.assertFalse(os.path.exists(out + "/v1/main/compare.html"))  # nothing comes before it

    def test_another_window_can_be_chosen(self):
        """Beginnings of other timeboxes have pages of their own, that Chronology and Running lead to; of many the newest."""
        for hour in range(1, 9):
            self.put("plain", "v1", "main", str(1790000000 + 3600 * hour))
        out = self.folder + "/windows"
        done = reporter("--store", self.store, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        for page, to in (("chronology", "exemplar-"), ("running", "exemplar-rows-"), ("exemplars", "exemplar-")):
            with open(f"{out}/v1/main/{page}.html", encoding="utf-8") as file:
                text = file.read()
            found = re.findall(r'<a href="([^"]*)">(?:<bdi>)?A recording that began on', text)
            self.assertEqual(len(found), 5, page)
            for link in found:
                self.assertTrue(link.rsplit("/", 1)[-1].startswith(to), link)
                self.assertTrue(os.path.exists(f"{out}/v1/main/" + link.rsplit("/", 1)[-1]), link)
        number = found[-1].rsplit("-", 1)[1].split(".")[0]
        done = reporter("--store", self.store, "--format", "perfetto", "--exemplar", number)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["traceEvents"])
        self.assertIn("exemplars, not", reporter("--store", self.store, "--format", "perfetto", "--exemplar", str(int(number) + 1)).stderr)

    def test_lines_of_other_shards_are_said_to_be_missing(self):
        site, notice = self.folder + "/site", "a wait for a host of another shard"
        self.put("source", "v2")
        self.put("source", "v3")
        self.put("shards", "v3")
        self.assertEqual(reporter("--store", self.store, "--out", site, "--quiet").returncode, 0)
        said = {}
        for release in ("v2", "v3"):
            with open(f"{site}/{release}/main/sources.html", encoding="utf-8") as file:
                said[release] = notice in file.read()
        self.assertEqual(said, {"v2": False, "v3": True})

    def test_damage_is_marked_not_fatal(self):
        self.put("plain", "v1", "second")
        path = self.store + "/v1/data.mdb"
        with open(path, "rb") as file:
            data = bytearray(file.read())
        magic, at, count = bytes.fromhex("28b52ffd"), 0, 0
        while (at := data.find(magic, at)) >= 0:
            data[at + 12] ^= 0xFF
            at, count = at + 4, count + 1
        self.assertGreater(count, 0)
        with open(path, "wb") as file:
            file.write(data)
        out = self.folder + "/site"
        run = reporter("--store", self.store, "--out", out)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("damaged=", run.stderr)
        with open(out + "/v1/main/index.html", encoding="utf-8") as file:
            self.assertIn("Damaged and left out", file.read())

    def test_a_damaged_release_leaves_the_others(self):
        self.put("plain", "v2")
        with open(self.store + "/v1/data.mdb", "wb") as file:
            file.write(b"no database" * 1000)
        out = self.folder + "/site"
        run = reporter("--store", self.store, "--out", out)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("damaged=1", run.stderr)
        self.assertIn("nothing of 1 of 2 releases could be read", run.stderr)
        for page in ("/index.html", "/v1/index.html"):
            with open(out + page, encoding="utf-8") as file:
                self.assertIn("Release v1 cannot be read", file.read())
        self.assertTrue(os.path.exists(out + "/v2/main/index.html"))
        self.assertEqual(reporter("--store", self.store, "--release", "v1", "--out", out).returncode, 1)

    def test_parts_of_stacks_are_left_out(self):
        def rows(*args):
            run = reporter("query", "--store", self.store, "--format", "json", *args)
            self.assertEqual(run.returncode, 0, run.stderr)
            part = json.loads(run.stdout)["releases"][0]
            return part, {row[args[1]]: row for row in part["rows"]}
        whole, processes = rows("--by", "process", "--top", "0")
        less, without = rows("--by", "process", "--top", "0", "--leave-out", "process=cc1", "--leave-out", "process=as")
        self.assertEqual(less["total_ns"], whole["total_ns"])
        self.assertNotIn("cc1", without)
        self.assertEqual(without["sh"]["ns"], sum(processes[name]["ns"] for name in ("sh", "cc1", "as")))
        part, _ = rows("--by", "process", "--order", "pieces", "--at-least", "100")
        counts = [row["count"] for row in part["rows"]]
        self.assertEqual(counts, sorted(counts, reverse=True))
        self.assertGreaterEqual(counts[-1], 100)
        self.assertEqual(part["left_out"], len(processes) - len(counts))
        part, _ = rows("--by", "function", "--order", "run", "--at-least", "10%")
        self.assertEqual(part["rows"][0]["function"], "ira")
        self.assertTrue(all(row["running_ns"] * 10 >= whole["total_ns"] for row in part["rows"]))
        text = reporter("query", "--store", self.store, "--order", "each", "--leave-out", "module=cc1").stdout
        self.assertRegex(text, "(?s)Left out of the stacks: module=cc1.*A piece")
        self.assertNotIn("ira", reporter("--store", self.store, "--format", "folded", "--leave-out", "object=cc1").stdout)
        asked = json.loads(reporter("query", "--store", self.store, "--format", "json", "--leave-out", "module=cc1").stdout)
        self.assertEqual(asked["contour"], "module=cc1")
        summary = json.loads(reporter("--store", self.store, "--format", "json", "--leave-out", "module=cc1").stdout)
        self.assertEqual((summary["contour"], summary["total_ns"]), ("module=cc1", whole["total_ns"]))
        run = reporter("--store", self.store, "--format", "csv", "--table", "functions", "--order", "waiting_ns", "--top", "3")
        waiting = [int(line.split(",")[5]) for line in run.stdout.splitlines()[1:]]
        self.assertEqual((waiting, len(waiting)), (sorted(waiting, reverse=True), 3))
        run = reporter("--store", self.store, "--format", "csv", "--table", "functions", "--order", "waiting_ns", "--at-least", "5%")
        more = [int(line.split(",")[5]) for line in run.stdout.splitlines()[1:]]
        self.assertTrue(more and all(ns * 20 >= whole["total_ns"] for ns in more), more)
        self.put("plain", "v2")
        order = ("check", "v1", "v2", "--store", self.store, "--format", "json", "--order", "new", "--at-least", "2%", "--top", "3")
        rows_of = json.loads(reporter(*order).stdout)["processes"]
        self.assertLessEqual(len(rows_of), 3)
        self.assertEqual([row["new"]["ns_per_unit"] for row in rows_of], sorted((row["new"]["ns_per_unit"] for row in rows_of), reverse=True))
        run = reporter("check", "v1", "v2", "--store", self.store, "--format", "json", "--leave-out", "process=cc1")
        self.assertEqual(json.loads(run.stdout)["contour"], "process=cc1", run.stderr)
        self.assertNotIn("cc1", [row["name"] for row in json.loads(run.stdout)["processes"]])
        for args in (("query", "--leave-out", "function=f"), ("query", "--order", "size"), ("query", "--at-least", "much"),
                     ("query", "--order", "pieces", "--at-least", "1%"), ("query", "--by", "line", "--order", "run"),
                     ("query", "--order", "pieces", "--at-least", "10ms"), ("query", "--at-least", "5"), ("query", "--findings", "--format", "page"),
                     ("query", "--findings", "--format", "categories"), ("query", "--format", "page", "--order", "run"), ("query", "--format", "categories", "--at-least", "1%"),
                     ("--out", self.folder + "/site", "--leave-out", "process=a"), ("--format", "csv", "--order", "ns"),
                     ("--format", "csv", "--table", "waits", "--order", "waiter"), ("--format", "json", "--top", "3"), ("check", "--keep", "--leave-out", "process=a"),
                     ("query", "--format", "page", "--top", "3"), ("query", "--format", "categories", "--top", "0"), ("check", "--order", "size"),
                     ("check", "--at-least", "5"), ("check", "--keep", "--top", "3"), ("--format", "csv", "--at-least", "1%"),
                     ("--format", "csv", "--table", "waits", "--order", "count", "--at-least", "1ms"),
                     ("--format", "csv", "--table", "waits", "--order", "ns", "--at-least", "1")):
            self.assertEqual(reporter(*args, "--store", self.store).returncode, 64, args)

    def test_an_answer_without_a_damaged_release_is_no_success(self):
        self.put("plain", "v2")
        asks = ("query", "--store", self.store, "--by", "process", "--format", "json")
        self.assertEqual((reporter(*asks).returncode, reporter(*asks).stderr), (0, ""))
        with open(self.store + "/v1/data.mdb", "wb") as file:
            file.write(b"no database" * 1000)
        run = reporter(*asks)
        self.assertEqual([part["release"] for part in json.loads(run.stdout)["releases"]], ["v2"])
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, "could not be read and are not in the answer: 1; .*verify")
        self.assertEqual(reporter(*asks, "--release", "v2").returncode, 0)
        shutil.rmtree(self.store + "/v2")
        run = reporter(*asks)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("could not be read", run.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
