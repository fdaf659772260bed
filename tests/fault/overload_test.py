#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Overload of the real kind: more context switches than a small ring buffer takes, an aggregator that stands still, a spool that is too
small. overload_test.py BIN. The kernel's own count of context switches (ctxt of /proc/stat), read before and after each end of the recording, says
how many there were at least and at most: what the report has recorded and what it says was lost must together be in between."""
import glob, json, os, signal, subprocess, sys, tempfile, time, unittest

BIN = os.path.abspath(sys.argv[1])
PAIRS = 6
SECONDS = 4
LONG_S = 12
PING = """
import os, time
a, b = os.pipe(), os.pipe()
end = time.monotonic() + %d
if os.fork():
    while time.monotonic() < end:
        for _ in range(200):
            os.write(a[1], b"x"); os.read(b[0], 1)
    os.close(a[1])
else:
    os.close(a[1])
    while os.read(a[0], 1):
        os.write(b[1], b"x")
"""


def switches():
    with open("/proc/stat", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("ctxt "))


class Overload(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="wakepath-overload-")
        self.addCleanup(holder.cleanup)
        self.folder, self.children = holder.name, []

    def tearDown(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()

    def start(self, *words, awaits_welcome=True):
        down, up = os.pipe()
        path = f"{self.folder}/log{len(self.children)}"
        with open(path, "wb") as log:
            ready = ["--ready-fd", str(up)] if awaits_welcome else []
            child = subprocess.Popen([BIN + "/" + words[0], "--no-config", *words[1:], *ready], pass_fds=[up], stderr=log, stdout=log)
        self.children.append(child)
        os.close(up)
        if awaits_welcome:
            self.assertTrue(os.read(down, 6), self.logs())
        os.close(down)
        while not awaits_welcome and child.poll() is None and "collecting source=" not in self.logs():
            time.sleep(0.01)
        self.assertIsNone(child.poll(), self.logs())
        return child

    def logs(self):
        texts = []
        for path in sorted(glob.glob(self.folder + "/log*")):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(file.read()[-2000:])
        return "\n---\n".join(texts)

    def record(self, *options, stands_still=False, rest_s=0, seconds=SECONDS):
        """(at least, at most) so many switches, and the report. The aggregator stands still meanwhile, or the collector for a while in the middle."""
        aggregator = self.start("wakepath-aggregator", "--bind", f"ipc://{self.folder}/s", "--store", self.folder + "/store", "--release", "v",
                                "--aggregate", "ping=comm=python3", "--exit-after-sessions", "1")
        if stands_still:  # before it welcomes anyone: what is on its way to it, up to its credit, would not be lost
            aggregator.send_signal(signal.SIGSTOP)
        most = switches()
        collector = self.start("wakepath-collector", "--connect", f"ipc://{self.folder}/s", "--overhead-limit", "none", "--frequency", "0", *options,
                               awaits_welcome=not stands_still)
        least = switches()
        pings = [subprocess.Popen(["python3", "-c", PING % seconds]) for _ in range(PAIRS)]
        if rest_s:
            time.sleep(seconds / 2)
            collector.send_signal(signal.SIGSTOP)
            time.sleep(rest_s)
            collector.send_signal(signal.SIGCONT)
        for ping in pings:
            ping.wait()
        aggregator.send_signal(signal.SIGCONT)
        least = switches() - least
        collector.send_signal(signal.SIGTERM)
        self.assertEqual(collector.wait(180), 0, self.logs())
        most = switches() - most
        self.assertEqual(aggregator.wait(180), 0, self.logs())
        cat = subprocess.run([BIN + "/wakepath-store", "cat", self.folder + "/store", "v:ping", "--json"], check=True, capture_output=True, text=True)
        return least, most, json.loads(cat.stdout)

    def check(self, least, most, report, is_lost=True):
        events = {row["kind"]: row for row in report["events"]}
        counted = events["switch"]["total"] + events["switch"]["dropped"]
        lost = sum(row["dropped"] for row in report["events"])
        print(json.dumps({"least": least, "counted": counted, "most": most, "lost": {kind: row["dropped"] for kind, row in events.items() if row["dropped"]},
                          "uncertain_s": report["uncertain_ns"] / 1e9, "total_s": report["head"]["total_ns"] / 1e9}), flush=True)
        self.assertLessEqual(counted, most)
        self.assertGreaterEqual(counted, least * 0.9999)  # some machines hide a few switches of their own from tracers (docs/truth.md)
        if is_lost:
            self.assertGreater(lost, 1000, self.logs())
            self.assertGreater(report["uncertain_ns"], 0)
        self.assertEqual(report["head"]["dropped"], lost)
        verify = subprocess.run([BIN + "/wakepath-store", "verify", self.folder + "/store"], capture_output=True, text=True, check=False)
        self.assertEqual(verify.returncode, 0, verify.stdout)

    def test_without_overload(self):
        self.check(*self.record("--ring-size", str(1 << 26), "--spool", "none"), is_lost=False)

    def test_small_ring(self):
        self.check(*self.record("--ring-size", "65536", "--spool", "none", rest_s=0.5))

    def test_aggregator_stands_still_and_the_spool_is_small(self):
        self.check(*self.record("--spool", self.folder + "/spool", "--spool-limit", "1M", stands_still=True, seconds=LONG_S))


if __name__ == "__main__":
    unittest.main(argv=["overload_test"], verbosity=2)
