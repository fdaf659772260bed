#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath view: who may ask, what is served, and that a process opened by a click is what an import with its aggregate says.
view_test.py BIN"""
import glob
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

BIN = sys.argv[1]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reporter"))
from browser import Browser  # noqa: E402

PATIENCE_S = 60


def run(program, *words, **how):
    return subprocess.run([f"{BIN}/{program}", *words], check=True, timeout=PATIENCE_S, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


class View(unittest.TestCase):
    """A report of the web servers of a made-up host, with its capture beside the store, as a recording leaves it."""
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="wp-view-test-")
        cls.dir, cls.tmp = f"{cls.folder}/report", f"{cls.folder}/tmp"
        os.mkdir(cls.tmp)
        run("fleetgen", "--out", cls.folder, "--seconds", "1", "--seed", "1", "--world", "1", "--release", "v1", "--frequency", "97")
        cls.capture = sorted(glob.glob(cls.folder + "/*.capture"))[0]
        run("wakepath-store", "import", cls.capture, "--into", cls.dir + "/store", "--aggregate", "web=comm=web", "--aggregate", "one=pid=1000")
        shutil.copy(cls.capture, cls.dir + "/store/~capture")
        run("wakepath-reporter", "--no-config", "--quiet", "--store", cls.dir + "/store", "--out", cls.dir, "--own-pages")
        with open(cls.dir + "/store/~own.js", "w", encoding="utf-8") as file:
            file.write('window.wakepath.payloads.own = ["pid-77"];\n')
        with open(cls.dir + "/store/~own-pid-77.html", "w", encoding="utf-8") as file:
            file.write("made with the recording")
        with open(cls.dir + "/summary.json", encoding="utf-8") as file:
            cls.pids = [row["pid"] for row in json.load(file)["processes"] if row["pid"]]
        cls.pid = cls.pids[1]
        cls.served = cls.start(cls.dir)

    @classmethod
    def start(cls, what, *flags, **environment):
        served = subprocess.Popen([BIN + "/wakepath", "view", what, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "TMPDIR": cls.tmp, **environment})
        served.address = served.stdout.readline().strip()
        found = re.fullmatch(r"http://(127\.0\.0\.1:\d+)(/[0-9a-f]{32}/)", served.address)
        assert found, (served.address, served.poll() is not None and served.stderr.read())
        served.host, served.root = found.groups()
        return served

    @classmethod
    def end(cls, served):
        served.send_signal(signal.SIGTERM)
        words = served.communicate(timeout=PATIENCE_S)
        return served.returncode, words

    @classmethod
    def tearDownClass(cls):
        if cls.served.poll() is None:
            cls.end(cls.served)
        shutil.rmtree(cls.folder)

    def ask(self, path, method="GET", root=None, **headers):
        """(status, where to, text)"""
        connection = http.client.HTTPConnection(self.served.host, timeout=PATIENCE_S)
        connection.putrequest(method, (self.served.root if root is None else root) + path, skip_host="Host" in headers)
        for key, value in headers.items():
            connection.putheader(key, value)
        connection.endheaders()
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, answer.getheader("Location"), text

    def made(self, path):
        """The address of a page that is made on demand, once it is there; else the last answer."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            status, place, text = self.ask(path)
            if status != 200 or time.monotonic() > deadline:
                return place or (status, text)
            self.assertIn("Cancel", text)
            time.sleep(0.1)

    def imported(self, selector):
        """The total of an import with that aggregate."""
        store = tempfile.mkdtemp(dir=self.folder) + "/store"
        run("wakepath-store", "import", self.capture, "--into", store, "--aggregate", "one=" + selector)
        return json.loads(run("wakepath-reporter", "--store", store, "--aggregate", "one", "--format", "json").stdout)["total_ns"]

    def test_who_may_ask(self):
        self.assertEqual(self.ask("")[0], 200)
        self.assertIn('data-own="1"', self.ask("v1/web/index.html")[2])
        self.assertEqual(self.ask("", Host="localhost:" + self.served.host.split(":")[1])[0], 200)
        for host in ("evil.example", "evil.example:" + self.served.host.split(":")[1], "127.0.0.1", ""):
            self.assertEqual(self.ask("", Host=host)[0], 403, host)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            self.assertEqual(self.ask("", method=method)[0], 405)
        for root in ("/", "/" + "0" * 32 + "/", self.served.root[:-1], self.served.root[:-2] + "/", "//", "/%00/"):
            self.assertEqual(self.ask("", root=root)[0], 404, root)

    def test_a_page_that_was_not_opened(self):
        opener = self.tmp + "/opener"
        with open(opener, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexit 3\n")
        os.chmod(opener, 0o755)
        served = self.start(self.dir, "--open", BROWSER=opener)
        self.addCleanup(served.kill)
        self.assertIn("the page was not opened: what opens pages here ended with 3; set BROWSER to a browser", served.stderr.readline())
        self.assertEqual(self.end(served)[0], 0)

    def test_only_pages_are_served(self):
        os.symlink("/etc/passwd", self.dir + "/passwd.html")
        for path in ("store/~capture", "store/v1/data.mdb", "store/~recording", "../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd",
                     "passwd.html", "v1", "v1/web/", "none.html", "~made/../own.log", "~own/", "~own/pid-0", "~own/pid-1x", "~own/pid-99999999",
                     "~own/pid--1", "~own/pid-1/other", "~own/pid-1+", "~own/pid-1+tid-2", "~own/uid-1+2", "~own/pid-" + "+".join(map(str, range(1, 66))), "~own/" + "pid-" * 2000):
            status, _, text = self.ask(path)
            self.assertEqual(status, 404, path)
            self.assertNotIn("root:", text)

    def test_what_was_made_with_the_recording_is_not_made_again(self):
        self.assertEqual(self.made("~own/pid-77?page=flame"), self.served.root + "store/~own-pid-77.html#page=flame")
        self.assertEqual(self.made('~own/pid-77?page=x"/../y'), self.served.root + "store/~own-pid-77.html")

    def test_who_was_not_seen(self):
        for path, selector in (("~own/pid-4194304", "pid=4194304"), ("~own/of?selector=comm%3Dnobody", "comm=nobody")):
            status, text = self.made(path)
            self.assertEqual(status, 404)
            self.assertRegex(text, f">nothing that was recorded fits --aggregate .*={selector}")

    def test_cancelled(self):
        self.assertEqual(self.ask("~own/pid-5?name=<b>")[0], 200)
        self.assertNotIn("<b>", self.ask("~own/pid-5")[2])
        # a job may be over before it is cancelled
        self.assertTrue(any(self.ask(f"~own/pid-{pid}")[0] == 200 and "Cancelled" in self.ask(f"~own/pid-{pid}/cancel")[2] for pid in range(5, 25)))

    def test_a_click_opens_what_an_import_says(self):
        """A process and one thread of it, in the timeline of the report; to the nanosecond."""
        with Browser() as browser:
            browser.open(self.served.address + "v1/web/running.html")
            row = f"wakepath.running.rows.find(function (row) {{ return row.thread >= 0 && wakepath.running.data.thread_pid[row.thread] === {self.pid}; }})"
            browser.evaluate(f"wakepath.running.click(4, {row}.top + 4)")
            links = browser.wait("document.querySelector('dialog.own') && Array.from(document.querySelectorAll('dialog.own a')).map(a => a.href)")
            for kind in ("pid", "tid"):
                link, = (link for link in links if f"~own/{kind}-" in link and "page=flame" in link)
                selector = re.search(r"~own/([pt]id)-(\d+)", link)
                browser.open(link)
                total = browser.wait("window.wakepath && wakepath.payloads && wakepath.payloads.flame && wakepath.flameModel.decode(wakepath.payloads.flame).total[0]")
                self.assertEqual(total, self.imported("=".join(selector.groups())))
                browser.evaluate("location.hash = '#page=running'")  # all threads of the host, with its own ones as those of interest
                self.assertTrue(browser.wait("window.wakepath.running && window.wakepath.running.isSystem"), kind)
                pids = browser.evaluate("Array.from(new Set(wakepath.running.rows.filter(r => r.base).map(r => wakepath.running.data.thread_pid[r.thread])))")
                self.assertEqual(pids, [self.pid])
            browser.open(self.served.address + "v1/one/waits.html") # the processes of web have one name
            links = browser.evaluate("Array.from(document.querySelectorAll('a[href*=\"#own=pid-\"]')).map(a => a.getAttribute('href'))")
            self.assertTrue(links, "no process of the waits has pages of its own")
            browser.evaluate(f"location.href = '{links[0]}'")
            browser.wait("!!document.querySelector('dialog.own form input')")
            self.assertIn("flame.html#process=", browser.evaluate("Array.from(document.querySelectorAll('dialog.own a')).pop().href"))
            other = next(pid for pid in self.pids if f"-pid-{pid}" not in links[0] and f"=pid-{pid}&" not in links[0])
            browser.evaluate(f"document.querySelector('dialog.own form input').value = '{other}', document.querySelector('dialog.own form button').click()")
            ids = "+".join(map(str, sorted((other, int(re.search(r"own=pid-(\d+)", links[0])[1])))))
            total = browser.wait("window.wakepath && wakepath.payloads && wakepath.payloads.flame && wakepath.flameModel.decode(wakepath.payloads.flame).total[0]")
            self.assertEqual(total, self.imported("pid=" + ids))

    def test_a_marked_interval_is_computed(self):
        """By the engine, of what the page is of and of one process; where nobody serves, the command that does it is shown."""
        with Browser() as browser:
            browser.open(self.served.address + "v1/web/running.html")
            browser.wait("!!(window.wakepath && wakepath.running && wakepath.payloads.interest)")
            browser.evaluate("wakepath.running.brush.mark(wakepath.running.data.length * 0.3, wakepath.running.data.length * 0.55, true)")
            browser.evaluate("Array.from(document.querySelectorAll('section.brushed button')).find(b => b.textContent.startsWith('Pages of it')).click()")
            link = browser.wait("document.querySelector('dialog.own a[href*=\"page=flame\"]') && document.querySelector('dialog.own a[href*=\"page=flame\"]').href")
            text = urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["selector"][0]
            self.assertRegex(text, r"^comm=web,between=\d{19}-\d{19}$")
            browser.open(link)
            total = browser.wait("window.wakepath && wakepath.payloads && wakepath.payloads.flame && wakepath.flameModel.decode(wakepath.payloads.flame).total[0]")
            self.assertEqual(total, self.imported(text))
            start, end = re.search(r"(\d+)-(\d+)$", text).groups()
            self.assertEqual(total + self.imported(f"comm=web,between=0-{start}") + self.imported(f"comm=web,between={end}-{2 ** 63}"), self.imported("comm=web"))
            browser.open("file://" + self.dir + "/v1/one/chronology.html")
            browser.wait("!!(window.wakepath && wakepath.chronology && wakepath.payloads.interest)")
            browser.evaluate("wakepath.chronology.brush.mark(0, wakepath.chronology.data.length / 2, true)")
            browser.evaluate("Array.from(document.querySelectorAll('section.brushed button')).find(b => b.textContent.startsWith('Pages of it')).click()")
            command = browser.wait("document.querySelector('dialog.own pre') && document.querySelector('dialog.own pre').textContent")
            browser.evaluate("document.querySelector('dialog.own').close()")
            browser.wait("!document.querySelector('dialog.own')")
            browser.evaluate("wakepath.own({pid: 999, tid: 998, name: 'gone'})")
            heads = browser.wait("document.querySelector('dialog.own h2') && Array.from(document.querySelectorAll('dialog.own h2, dialog.own pre')).map(e => e.textContent)")
            self.assertEqual(heads, ["Process 999 gone, thread 998", f"wakepath view {self.dir}"])
            self.assertRegex(command, rf"^wakepath view {self.dir} --aggregate interval=pid=1000,between=\d{{19}}-\d{{19}}$")

    def test_several_as_one(self):
        """In whatever order and however often they are named."""
        first, second = sorted(set(self.pids))[:2]
        place = self.made(f"~own/pid-{second}+{first}+{second}?page=flame")
        self.assertEqual(place, f"{self.served.root}~made/~own-pid-{first}+{second}.html#page=flame")
        self.assertGreater(self.imported(f"pid={first}+{second}"), max(self.imported(f"pid={first}"), self.imported(f"pid={second}")))
        self.assertRegex(self.made("~own/pid-" + "+".join(map(str, [first, second, *range(2000, 2062)]))), "/~own-of-[0-9a-f]{16}.html$")
        self.assertIn("more than 64 process ids", self.ask("~own/pid-" + "+".join(map(str, range(1, 66))))[2])

    def test_other_processes_of_interest(self):
        served = self.start(self.dir, "--aggregate", "other=comm=web", "--aggregate", f"two=pid={self.pid}")
        self.addCleanup(self.end, served)
        connection = http.client.HTTPConnection(served.host, timeout=PATIENCE_S)
        for aggregate, status in (("other", 200), ("two", 200), ("web", 404)):
            connection.request("GET", f"{served.root}v1/{aggregate}/index.html")
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, status)
        connection.close()

    def test_wrong_names_of_interest(self):
        for names, text in ((["a b"], "'a b' cannot name an aggregate"), ([""], "'' cannot name an aggregate"),
                            (["__state__"], "'__state__' cannot name an aggregate"), (["x" * 129], "cannot name an aggregate"),
                            (["one", "ones", "one"], "two aggregates are named 'one'")):
            words = [word for name in names for word in ("--aggregate", name + "=comm=web")]
            done = subprocess.run([BIN + "/wakepath", "view", self.dir, *words], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
            self.assertEqual((done.returncode, done.stdout), (64, ""), names)
            self.assertIn(text, done.stderr)
        done = subprocess.run([BIN + "/wakepath", "record", "--aggregate", "comm=web"], capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 64)
        self.assertIn("'comm=web' is a selector without a name", done.stderr)

    def test_a_capture_and_a_store(self):
        for what, has_system in ((self.capture, True), (self.dir + "/store", False)):
            served = self.start(what)
            connection = http.client.HTTPConnection(served.host, timeout=PATIENCE_S)
            connection.request("GET", served.root)
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()
            connection.request("GET", served.root + "v1/system-data.js")  # what all threads did, of a capture that was read here
            self.assertEqual(connection.getresponse().status, 200 if has_system else 404)
            connection.close()
            self.assertEqual(self.end(served)[0], 0)

    def test_nothing_is_left(self):
        """And no port is there any more."""
        served = self.start(self.dir)
        self.assertEqual(len(glob.glob(self.tmp + "/wakepath-view-*")), 2)
        self.assertEqual(self.end(served), (0, ("", "")))
        self.assertEqual(len(glob.glob(self.tmp + "/wakepath-view-*")), 1)

    def test_the_browsers_arguments_have_no_key(self):
        """They are everybody's to read; the page that they name is not."""
        seen = self.folder + "/seen"
        with open(self.folder + "/browser", "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\n{{ echo "$1"; stat -c "%a %n" "$1"; cat "$1"; }} > {seen}.new && mv {seen}.new {seen}\n')
        os.chmod(self.folder + "/browser", 0o755)
        served = self.start(self.dir, "--open", BROWSER=self.folder + "/browser")
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.exists(seen) and time.monotonic() < deadline:
            time.sleep(0.05)
        with open(seen, encoding="utf-8") as file:
            argument, mode, page = file.read().split("\n", 2)
        self.assertNotIn(served.root.strip("/"), argument)
        self.assertEqual(mode, "600 " + argument)
        self.assertIn(f"url={served.address}\"", page)
        self.assertEqual(os.stat(os.path.dirname(argument)).st_mode & 0o777, 0o700)
        self.assertEqual(self.end(served)[0], 0)
        self.assertFalse(os.path.exists(os.path.dirname(argument)))

    def test_what_is_none(self):
        with open(self.capture, "rb") as file:
            capture = file.read()
        bad = {"text": (b"no capture", "is not a capture: not a frame"), "newer": (capture[:4] + b"\x09" + capture[5:], "wire version 9, this side speaks"),
               "cut": (capture[:len(capture) // 2], "the collector failed: the capture is damaged at byte"), "none": (b"", "is not a capture")}
        for name, (bytes_, _) in bad.items():
            with open(f"{self.folder}/{name}", "wb") as file:
                file.write(bytes_)
        os.mkdir(self.folder + "/empty")
        nobody = "none=comm=nobody"
        for words, reason in [(["/nonexistent"], "cannot read"), (["/dev/null"], "neither a folder nor a capture"), ([self.folder + "/empty"], "no release in it"),
                              ([self.capture, "--aggregate", nobody], f"nothing that was recorded fits --aggregate '{nobody}'")] + [
                              ([f"{self.folder}/{name}"], text) for name, (_, text) in bad.items()]:
            ran = subprocess.run([BIN + "/wakepath", "view", *words], capture_output=True, text=True, check=False, timeout=PATIENCE_S,
                                 env={**os.environ, "TMPDIR": self.folder + "/empty"})
            self.assertEqual((ran.returncode, ran.stdout), (1, ""), words)
            self.assertIn(reason, ran.stderr)
            self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
            self.assertEqual(os.listdir(self.folder + "/empty"), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[2:]])
