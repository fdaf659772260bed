#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A storm of context switches against the overhead limit: live_budget_test.py BIN_DIR. States and counts, no times: how fast
this machine is today does not matter."""
import json, os, re, shutil, signal, subprocess, sys, tempfile, time, unittest, urllib.request

BIN = os.path.abspath(sys.argv[1])
WINDOWS = 3  # enum wp_budget_level
os.environ.pop("WAKEPATH_COLLECTOR_OVERHEAD_LIMIT", None)  # what other tests run with


class Budget(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.processes = []
        self.addCleanup(self.end)

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def start(self, *command, **options):
        self.processes.append(subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, **options))
        return self.processes[-1]

    def log(self):
        with open(f"{self.folder}/log", encoding="utf-8") as file:
            return file.read()

    def until(self, what, is_so, seconds=100):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = is_so()
            if found:
                return found
            time.sleep(0.2)
        self.fail(f"never: {what}\n{self.log()}")

    def figures(self):
        """Of the collector: {name{labels}: value}."""
        address = self.until("metrics", lambda: re.findall(r"serving metrics address=(\S+)", self.log()))[0]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
            lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def first_figures(self):
        return self.until("figures", lambda: [now for now in [self.figures()] if "wakepath_collector_shedding_level" in now])[0]

    def level(self):
        return self.figures()["wakepath_collector_shedding_level"]

    def begin(self, limit):
        """An aggregator and a collector; the collector's settings are in a file."""
        endpoint = f"ipc://{self.folder}/events"
        with open(f"{self.folder}/collector.conf", "w", encoding="utf-8") as file:
            file.write(f"overhead-limit = {limit}\n")
        self.aggregator = self.start(f"{BIN}/wakepath-aggregator", "--no-config", "--bind", endpoint, "--store", f"{self.folder}/store",
                                     "--release", "r", "--aggregate", "storm=comm=sched-messaging",
                                     "--aggregate", "ticker=comm=ticker", "--exit-after-sessions", "1",
                                     stderr=subprocess.DEVNULL)
        with open(f"{self.folder}/log", "w", encoding="utf-8") as log:
            self.collector = self.start(f"{BIN}/wakepath-collector", "--config", f"{self.folder}/collector.conf", "--connect", endpoint,
                                        "--metrics", "127.0.0.1:0", stderr=log)

    def storm(self):
        return self.start("sh", "-c", "while :; do perf bench sched messaging -g 4 -l 2000; done", stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)

    def ticker(self):
        """A thread that is there all the time."""
        return self.start(sys.executable, "-c", "import time\nopen('/proc/self/comm', 'w').write('ticker')\nwhile True: time.sleep(0.05)")

    def finish(self):
        self.collector.terminate()
        self.assertEqual(self.collector.wait(), 0, self.log())
        self.assertEqual(self.aggregator.wait(), 0)
        return self.report("storm")

    def report(self, aggregate):
        text = subprocess.run([f"{BIN}/wakepath-reporter", "--no-config", "--store", f"{self.folder}/store", "--release", "r", "--aggregate",
                               aggregate, "--format", "json"], check=True, capture_output=True, text=True).stdout
        return json.loads(text)

    @unittest.skipUnless(shutil.which("perf"), "no perf")
    def test_storm(self):
        self.begin(2)
        before = self.first_figures()
        self.assertEqual(before["wakepath_collector_overhead_limit_ratio"], 0.02)
        begin = time.monotonic_ns()
        ticker = self.ticker()
        storm = self.storm()
        self.until("intervals are left out", lambda: self.level() >= WINDOWS)
        here = self.until("events are left out", lambda: [now for now in [self.figures()]
                          if now['wakepath_collector_left_out_seconds_total{what="events"}'] > 0])[0]
        self.assertGreater(here["wakepath_collector_left_out_stacks_total"], 0)
        # What it records is a part of what it sees: in intervals at most a half, whole periods of them.
        first = self.until("four seconds of it", lambda: [now for now in [self.figures()] if self.level() >= WINDOWS])[0]
        self.until("some periods", lambda: self.figures()['wakepath_collector_left_out_seconds_total{what="events"}'] >
                   first['wakepath_collector_left_out_seconds_total{what="events"}'] + 6)
        last = self.figures()
        runs = last["wakepath_collector_bpf_runs_total"] - first["wakepath_collector_bpf_runs_total"]
        events = sum(last[name] - first.get(name, 0) for name in last if name.startswith("wakepath_collector_events_total"))
        self.assertLess(events, 0.6 * runs)
        os.killpg(storm.pid, signal.SIGKILL)
        storm.wait()
        # Recovery, under a limit that what others do on this machine does not touch.
        with open(f"{self.folder}/collector.conf", "w", encoding="utf-8") as file:
            file.write("overhead-limit = 40\n")
        self.collector.send_signal(signal.SIGHUP)
        self.until("all is recorded", lambda: self.level() == 0)
        self.assertEqual(self.figures()["wakepath_collector_overhead_limit_ratio"], 0.4)
        os.killpg(ticker.pid, signal.SIGKILL)
        lived_ns = time.monotonic_ns() - begin
        report = self.finish()
        self.assertIn('recording less, to stay within the overhead limit', self.log())
        self.assertIn('recording more again overhead-limit=40%', self.log())
        self.assertIn('recorded="whole"', self.log())
        limits = {row["name"]: row for row in report["limits"]}
        self.assertGreater(limits["overhead: no events"]["ns"], 6e9)
        self.assertGreater(limits["overhead: fewer stacks"]["ns"], 0)
        self.assertLess(report["coverage"], 1)
        self.assertGreater(report["coverage"], 0)
        # Nothing is said of a time without events: not that what was before it went on.
        told = self.report("ticker")
        self.assertLess(told["total_ns"], lived_ns - 0.9 * limits["overhead: no events"]["ns"])
        self.assertGreater(told["total_ns"], 0)

    @unittest.skipUnless(shutil.which("perf"), "no perf")
    def test_no_limit(self):
        self.begin("none")
        self.assertNotIn("wakepath_collector_overhead_limit_ratio", self.first_figures())
        storm = self.storm()
        self.until("it storms", lambda: self.figures()["wakepath_collector_bpf_runs_total"] > 1e6)
        self.assertEqual(self.level(), 0)
        self.assertGreater(self.figures()["wakepath_collector_overhead_ratio"], 0)
        os.killpg(storm.pid, signal.SIGKILL)
        storm.wait()
        report = self.finish()
        self.assertFalse([row for row in report["limits"] if row["name"].startswith("overhead")])
        self.assertEqual(report["coverage"], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
