#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fleet of network namespaces with clocks that disagree: fleet_live_test.py BIN TIER. What the report blames is held
against what the tiers were told to do."""
import os, subprocess, sys, time, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fleet_net import Fleet, sh, stop
from fleet_report import edges, outline, time_in

BIN, TIER = sys.argv[1], sys.argv[2]
COMPUTE = """import os, sys, time
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
with open("/proc/self/comm", "w") as comm:
    comm.write(sys.argv[1])
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    pass
"""
ABSURD = {"h1": "0", "h2": "3600000,200", "h3": "-3600000,-200"} # +-1 h, +-200 ppm


def tier(fleet, host, name, *options):
    child = fleet.run(host, TIER, "--name", name, "--listen", fleet.address(host) + ":7000", *options)
    assert child.stdout.readline() == "listening\n"
    return child


def client(fleet, host, *options, nexts=("h2",), name="web"):
    words = [w for n in nexts for w in ("--next", fleet.address(n) + ":7000")]
    child = fleet.run(host, TIER, "--name", name, *words, *options)
    assert child.stdout.readline() == "connected\n"
    return child


def go(child):
    """Lets a client begin; what each of its requests took, in seconds."""
    return [int(word) / 1e9 for word in child.communicate("\n", timeout=120)[0].split()]


class FleetTest(unittest.TestCase):
    def fleet(self, *hosts, options=(), clocks=None, collectors=None):
        fleet = Fleet(BIN, hosts)
        self.addCleanup(fleet.close)
        fleet.aggregate("--aggregate", "web=comm=web", "--expect-hosts", str(len(hosts)), *options)
        fleet.clocks = clocks or {}
        return fleet

    def record(self, fleet):
        fleet.collectors = [fleet.collect(host, *(["--test-clock", fleet.clocks[host]] if host in fleet.clocks else []))
                            for host in fleet.hosts]

    def finish(self, fleet, reads=True):
        time.sleep(0.5)
        self.assertEqual(set(stop([c for c in fleet.collectors if c.poll() is None])), {0})
        fleet.aggregator.terminate()
        self.assertEqual(fleet.aggregator.wait(timeout=60), 0)
        return fleet.report("web") if reads else None

    def blamed(self, what, report, parts, expected, tolerance=0.05, without=(), measured=False):
        """A busy machine lets all wait for a processor: that is in what was measured, not in what a sleep is meant to last."""
        found = time_in(report, *parts, without=without if measured else [*without, "sched:"])
        self.assertAlmostEqual(found, expected, delta=expected * tolerance + 0.01,
                               msg="%s: %.4f s found, %.4f s it was\n%s" % (what, found, expected, outline(report)))

    def test_chain_over_three_hosts_whose_clocks_disagree(self):
        fleet = self.fleet("h1", "h2", "h3", clocks=ABSURD)
        tier(fleet, "h3", "db", "--sleep", "3000")
        tier(fleet, "h2", "api", "--busy", "2000", "--next", fleet.address("h3") + ":7000")
        self.record(fleet)
        took = go(client(fleet, "h1", "--requests", "200", "--pause", "2000"))
        report = self.finish(fleet)
        self.blamed("the sleep two hosts away", report,
                    ("[web]", "tcp:", "[api]@h2", "tcp:", "[db]@h3", "sleep:clock_nanosleep"), 200 * 0.00308)
        self.blamed("the work of the next host", report, ("[web]", "[api]@h2"), sum(took), 0.15, measured=True)
        found = edges(report)
        self.assertGreaterEqual(found["h2", "h1"]["messages"], 195)
        self.assertGreaterEqual(found["h3", "h2"]["messages"], 195)
        for edge in found.values():
            self.assertLess(edge["clock_bound_ns"], 100_000_000, "at worst: of the first messages, by time probes alone, on a busy machine")
            self.assertLess(edge["transit_ns"], 5_000_000, "not an hour; a busy machine takes its time")
        self.assertLess(report["categories"]["remote_not_traced"], 0.01 * report["total_ns"])
        self.assertLess(report["categories"]["unaccounted"], 0.02 * report["total_ns"])

    def test_connections_older_than_the_recording(self):
        fleet = self.fleet("h1", "h2", clocks=ABSURD)
        tier(fleet, "h2", "api", "--sleep", "4000")
        web = client(fleet, "h1", "--requests", "200", "--pause", "1000")
        self.record(fleet)
        go(web)
        report = self.finish(fleet)
        self.blamed("the sleep of the next host", report, ("[web]", "tcp:", "[api]@h2", "sleep:clock_nanosleep"), 200 * 0.00408,
                    0.06)

    def test_fan_out_waits_for_the_last_answer(self):
        fleet = self.fleet("h1", "h2", "h3", clocks=ABSURD)
        tier(fleet, "h2", "fast", "--sleep", "1000")
        tier(fleet, "h3", "slow", "--sleep", "6000")
        self.record(fleet)
        go(client(fleet, "h1", "--requests", "100", nexts=("h3", "h2")))
        report = self.finish(fleet)
        self.blamed("the slow one", report, ("[web]", "[slow]@h3", "sleep:clock_nanosleep"), 100 * 0.00608, 0.06)
        self.assertLess(time_in(report, "[fast]@h2", without=["sched:"]), 0.05) # that it gets no processor can make it the last

    def test_address_translation(self):
        fleet = self.fleet("h1", "h2", "h3", clocks=ABSURD)
        # h2 is the address that clients know; the service is on h3: destination and source are both rewritten.
        space = fleet.space("h2")
        sh("ip", "netns", "exec", space, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        rules = "\n".join([
            "table ip nat {", "chain pre { type nat hook prerouting priority -100;",
            "tcp dport 7000 dnat to %s:7000; }" % fleet.address("h3"),
            "chain post { type nat hook postrouting priority 100;", "tcp dport 7000 masquerade; }", "}"])
        subprocess.run(["ip", "netns", "exec", space, "nft", "-f", "-"], input=rules, text=True, check=True)
        tier(fleet, "h3", "db", "--sleep", "4000")
        self.record(fleet)
        go(client(fleet, "h1", "--requests", "100"))
        report = self.finish(fleet)
        self.blamed("the sleep behind the translation", report, ("[web]", "[db]@h3", "sleep:clock_nanosleep"), 100 * 0.00408,
                    0.06)
        self.assertGreaterEqual(edges(report)["h3", "h1"]["messages"], 98)

    def test_a_collector_that_vanishes(self):
        fleet = self.fleet("h1", "h2", "h3", options=("--give-up", "1000"))
        tier(fleet, "h3", "db", "--sleep", "2000")
        tier(fleet, "h2", "api", "--sleep", "2000", "--next", fleet.address("h3") + ":7000")
        self.record(fleet)
        web = client(fleet, "h1", "--requests", "500")
        web.stdin.write("\n")
        web.stdin.flush()
        time.sleep(1)
        fleet.collectors[2].kill()
        web.communicate(timeout=60)
        report = self.finish(fleet)
        self.blamed("the host that stayed", report, ("[web]", "[api]@h2", "sleep:clock_nanosleep"), 500 * 0.00208, 0.08,
                    without=["[db]@h3"])
        self.assertGreater(time_in(report, "[api]@h2", "(not told in time)"), 0.2, "what the other one did is not known")

    def test_who_else_has_the_processor_is_not_known(self):
        """A collector of one network namespace is not told of threads of others, and does not take their time for an idle processor's."""
        fleet = self.fleet("h1")
        self.record(fleet)
        with subprocess.Popen([sys.executable, "-c", COMPUTE, "hog", "3"]) as hog:
            web = fleet.run("h1", sys.executable, "-c", COMPUTE, "web", "2")
            self.assertEqual(web.wait(timeout=60), 0)
            hog.kill()
        report = self.finish(fleet)
        pushed = time_in(report, "[web]", "sched:preempted")
        self.assertGreater(pushed, 0.5, outline(report))
        self.assertGreater(time_in(report, "[web]", "sched:preempted;sched:not known (other network namespaces had the CPU)"), 0.9 * pushed,
                           outline(report))
        self.assertEqual(time_in(report, "hog"), 0, outline(report))

    def test_releases_of_processes(self):
        fleet = self.fleet("h1", "h2", options=["--aggregate", "api=comm=api", "--release-rule", "ruled=comm=other"])
        tier(fleet, "h2", "api", "--sleep", "2000")
        self.record(fleet)
        for name, release in (("web", "v7.1"), ("other", None)):
            child = fleet.run("h1", TIER, "--name", "web" if release else name, "--requests", "50", "--next",
                              fleet.address("h2") + ":7000", env={**os.environ, **({"WAKEPATH_RELEASE": release} if release else {})})
            self.assertEqual(child.stdout.readline(), "connected\n")
            go(child)
        self.finish(fleet, reads=False)
        report = fleet.report("web", "v7.1")
        self.blamed("filed under the release that the process says", report, ("[web]", "[api]@h2", "sleep:clock_nanosleep"),
                    50 * 0.00208, 0.1)
        served = fleet.report("api")
        self.assertEqual(served["release"], "unversioned")
        requests, = served["requests"] # of both clients; each slept 2 ms for
        self.assertEqual((requests["service"], requests["count"]), ("tcp port 7000", 100))
        self.assertGreater(requests["median_ns"], 2000000)
        asleep = [part for part in requests["consists_of"] if part["part"] == "deliberate_sleep"]
        self.assertGreater(sum(part["usual_ns"] for part in asleep), 2000000)

    def test_large_answers(self):
        fleet = self.fleet("h1", "h2", clocks=ABSURD)
        tier(fleet, "h2", "api", "--sleep", "2000", "--bytes", "300000")
        self.record(fleet)
        time.sleep(1) # with the first time probes alone a bound may be wider than a request is long
        go(client(fleet, "h1", "--requests", "200", "--bytes", "300000"))
        report = self.finish(fleet)
        self.blamed("the sleep behind large messages", report, ("[web]", "[api]@h2", "sleep:clock_nanosleep"), 200 * 0.00208, 0.08)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("needs root")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
