#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fleet that records in windows of wall time, on the real kernel: fleet_window_test.py BIN TIER. What is said of the windows,
scaled by the coverage, is held against what all of the time was; the window is changed while it runs, by each end."""
import glob, os, signal, sys, tempfile, time, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fleet_net import Fleet, stop
from fleet_report import edges, outline, time_in

BIN, TIER = sys.argv[1], sys.argv[2]
CLOCKS = {"h1": "0", "h2": "3600000,100"} # an hour is a whole number of periods: the windows are the same


class WindowTest(unittest.TestCase):
    def service(self, *hosts, options=()):
        """A server on the last host, and an aggregator."""
        fleet = Fleet(BIN, hosts)
        self.addCleanup(fleet.close)
        fleet.aggregate("--aggregate", "web=comm=web", "--aggregate", "after=comm=after", "--expect-hosts", str(len(hosts)), *options)
        server = fleet.run(hosts[-1], TIER, "--name", "api", "--listen", fleet.address(hosts[-1]) + ":7000", "--sleep", "3000")
        self.assertEqual(server.stdout.readline(), "listening\n")
        return fleet

    def client(self, fleet, name, requests):
        """A program that is there, with its connection, and waits for its word."""
        child = fleet.run(fleet.hosts[0], TIER, "--name", name, "--next", fleet.address(fleet.hosts[-1]) + ":7000", "--requests",
                          requests)
        self.assertEqual(child.stdout.readline(), "connected\n")
        return child

    def go(self, child):
        """What its requests took altogether, in seconds."""
        return sum(int(word) for word in child.communicate("\n", timeout=120)[0].split()) / 1e9

    def finish(self, fleet, collectors):
        self.assertEqual(set(stop(collectors)), {0})
        fleet.aggregator.terminate()
        self.assertEqual(fleet.aggregator.wait(timeout=60), 0)

    def test_what_the_windows_say_stands_for_the_whole(self):
        fleet = self.service(*CLOCKS)
        web = self.client(fleet, "web", 1500) # the connection is older than all windows
        began = time.time()
        collectors = [fleet.collect(host, "--test-clock", clock, "--window", "500ms every 1s") for host, clock in CLOCKS.items()]
        time.sleep(1.5) # the time probes have been there
        took = self.go(web)
        self.finish(fleet, collectors)
        elapsed = time.time() - began
        report = fleet.report("web")
        self.assertGreater(took, 3, "several windows")
        self.assertAlmostEqual(report["coverage"], 0.5, delta=0.15, msg=outline(report))
        self.assertAlmostEqual(report["estimated_total_ns"], report["total_ns"] / report["coverage"], delta=1e6)
        self.assertLess(report["total_ns"], report["coverage"] * elapsed * 1e9, "one thread: pauses are nobody's time")
        idle = sum(int(line.rsplit(" ", 1)[1]) for line in report["folded"].splitlines() if line.startswith("[web];sleep:read "))
        self.assertAlmostEqual((time_in(report, "[web]") - idle / 1e9) / report["coverage"], took, delta=0.25 * took, msg=outline(report))
        self.assertGreater(time_in(report, "[web]", "tcp:", "[api]@h2", "sleep:clock_nanosleep") / report["coverage"], 0.5 * took)
        self.assertGreater(edges(report)["h2", "h1"]["messages"], 500)
        self.assertLess(report["categories"]["remote_not_traced"], 0.03 * report["total_ns"], outline(report))
        cut = [row for row in report["unexplained"] if row["reason"] == "the recording paused before it ended"]
        self.assertGreater(len(cut), 0, "the window ends in the midst of a wait")

    def links(self, pid):
        """How many programs the process has attached."""
        count = 0
        for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
            try:
                with open(path) as file:
                    count += "link_type:\traw_tracepoint" in file.read()
            except OSError: # it was closed meanwhile
                continue
        return count

    def test_programs_are_attached_in_windows_alone(self):
        collector = self.service("h1").collect("h1", "--window", "1s every 2s")
        seen = set()
        for _ in range(120):
            seen.add(self.links(collector.pid))
            time.sleep(0.05)
        self.assertGreater(max(seen), min(seen - {0}) + 4, seen) # switches, wakings, sends, reads, arrivals
        self.assertEqual(set(stop([collector])), {0})

    def changed(self, log, window):
        """Waits until the collector says that this is its window now."""
        for _ in range(600):
            with open(log.name) as lines:
                if 'window="%s"' % window in (lines.read().splitlines() or [""])[-1]:
                    return
            time.sleep(0.05)
        with open(log.name) as lines:
            self.fail("the window is not '%s': %s" % (window, lines.read()))

    def changes(self, fleet, log, change):
        """`change` ends that hardly anything is recorded. What is recorded of a client before and of one after."""
        took = self.go(self.client(fleet, "web", 300))
        change()
        self.changed(log, "always")
        after = self.client(fleet, "after", 300)
        later = self.go(after)
        return took, later

    def told(self, fleet, took, later):
        web, after = fleet.report("web"), fleet.report("after")
        self.assertLess(time_in(web, "[web]", "[api]"), 0.1 * took, "nobody looked")
        self.assertGreater(time_in(after, "[after]", "[api]"), 0.7 * later, outline(after))
        self.assertLess(after["coverage"], 1)

    def test_an_aggregator_changes_it(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        conf, log = folder + "/aggregator.conf", open(folder + "/log", "w")
        self.addCleanup(log.close)
        self.write(conf, "window = \"10ms every 24h\"")
        fleet = self.service("h1", options=["--config", conf])
        collector = fleet.collect("h1", "--log-level", "info", stderr=log)
        self.changed(log, "10ms every 86400000ms")
        def change():
            self.write(conf, "window = always")
            fleet.aggregator.send_signal(signal.SIGHUP)
        took, later = self.changes(fleet, log, change)
        self.finish(fleet, [collector])
        self.told(fleet, took, later)

    def test_a_host_changes_it(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        conf, log = folder + "/collector.conf", open(folder + "/log", "w")
        self.addCleanup(log.close)
        self.write(conf, "window = \"10ms every 24h\"")
        fleet = self.service("h1")
        collector = fleet.collect("h1", "--log-level", "info", "--config", conf, stderr=log)
        self.changed(log, "10ms every 86400000ms")
        def change():
            self.write(conf)
            collector.send_signal(signal.SIGHUP)
        took, later = self.changes(fleet, log, change)
        self.finish(fleet, [collector])
        self.told(fleet, took, later)

    def write(self, path, *lines):
        with open(path, "w") as conf:
            conf.write("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("needs root")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
