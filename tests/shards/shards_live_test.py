#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two aggregators, a client's host with one and its server's with the other, in network namespaces: shards_live_test.py BIN TIER.
What the client waited for is blamed across the two; when the server's shard is killed the other goes on and says so."""
import json, os, socket, subprocess, sys, tempfile, time, unittest, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "fleet")]
from fleet_net import Fleet, sh, stop
from sharded import aggregator, by_ipc, say, start

BIN, TIER = sys.argv[1], sys.argv[2]
ABSURD = {"h1": "0", "h2": "3600000,200", "h3": "-3600000,-200"} # +-1 h, +-200 ppm
SILENT = "(its shard did not answer)"


def time_in(report, *parts, without=None):
    """Seconds of the pieces whose pseudo-stack holds these frames in this order; waiting for a processor left out."""
    total = 0
    for line in report["folded"].splitlines():
        stack, ns = line.rsplit(" ", 1)
        at = 0
        for part in parts:
            at = -1 if at < 0 else stack.find(part, at)
        if at >= 0 and "sched:" not in stack and not (without and without in stack):
            total += int(ns) / 1e9
    return total


def outline(report):
    """The heaviest pseudo-stacks without their functions."""
    rows = sorted(((int(line.rsplit(" ", 1)[1]), line.rsplit(" ", 1)[0]) for line in report["folded"].splitlines()), reverse=True)
    keep = ("[", "sleep:", "tcp:", "sched:", "path:")
    return "\n".join("%8.2f ms %s" % (ns / 1e6, ";".join(f for f in stack.split(";") if f.startswith(keep)))
                     for ns, stack in rows[:10]) + "\n%s\n%s" % (report["edges"], report["limits"])


class Shards:
    """Aggregators of a fleet, each with some of its hosts."""

    def __init__(self, fleet, shares, *options, own=()):
        self.fleet, self.shares, self.own = fleet, shares, own # own: the first one's
        self.folder = tempfile.mkdtemp(prefix="wakepath-shards-live-")
        self.endpoints = by_ipc(self.folder, len(shares))
        self.stores = ["%s/store%d" % (self.folder, i) for i in range(len(shares))]
        self.aggregators, self.collectors, self.options = [], {}, options
        for i in range(len(shares)):
            self.aggregators.append(self.aggregate(i))

    def aggregate(self, i):
        child = start(aggregator(BIN, self.endpoints, i, self.stores[i], *self.options, *(self.own if i == 0 else ())))
        self.fleet.children.append(child)
        return child

    def record(self):
        for i, hosts in enumerate(self.shares):
            for host in hosts:
                self.collectors[host] = self.fleet.collect(host, "--test-clock", ABSURD[host], endpoint=self.endpoints[i]["endpoint"])

    def report(self, *shards):
        stores = [self.stores[i] for i in shards or range(len(self.stores))]
        report = json.loads(say(BIN, stores, "json"))
        report["folded"] = say(BIN, stores, "folded")
        return report

    def close(self):
        sh("rm", "-rf", self.folder)


class ShardsTest(unittest.TestCase):
    def fleet(self, shares, *options, own=()):
        fleet = Fleet(BIN, [host for share in shares for host in share])
        self.addCleanup(fleet.close)
        shards = Shards(fleet, shares, *options, own=own)
        self.addCleanup(shards.close)
        return fleet, shards

    def tier(self, fleet, host, name, *options):
        child = fleet.run(host, TIER, "--name", name, "--listen", fleet.address(host) + ":7000", *options)
        self.assertEqual(child.stdout.readline(), "listening\n")

    def client(self, fleet, count, *options):
        child = fleet.run("h1", TIER, "--name", "web", "--next", fleet.address("h2") + ":7000", "--requests", str(count), *options)
        self.assertEqual(child.stdout.readline(), "connected\n")
        return child

    def go(self, child):
        child.communicate("\n", timeout=120)

    def blamed(self, what, report, parts, expected, tolerance=0.1, without=None):
        found = time_in(report, *parts, without=without)
        self.assertAlmostEqual(found, expected, delta=expected * tolerance + 0.02, msg="%s\n%s" % (what, outline(report)))

    def end(self, shards):
        """Collectors end together; the aggregators when they have resolved all."""
        time.sleep(1)
        self.assertEqual(set(stop([c for c in shards.collectors.values() if c.poll() is None])), {0})
        for aggregator in shards.aggregators:
            aggregator.terminate()
            aggregator.wait(timeout=60)

    def test_blame_crosses_shards(self):
        fleet, shards = self.fleet((["h1", "h3"], ["h2"]), "--expect-hosts", "3")
        self.tier(fleet, "h3", "db", "--sleep", "3000") # back on the client's own shard
        self.tier(fleet, "h2", "api", "--sleep", "2000", "--next", fleet.address("h3") + ":7000")
        shards.record()
        time.sleep(1.5) # with the first time probes alone a bound may be wider than a request is long
        self.go(self.client(fleet, 300, "--pause", "2000"))
        self.end(shards)
        report = shards.report()
        self.blamed("the sleep on the other shard", report, ("[web]", "tcp:", "[api]@h2", "sleep:clock_nanosleep"), 300 * 0.00208,
                    without="[db]@h3")
        self.blamed("the sleep behind it", report, ("[web]", "tcp:", "[api]@h2", "tcp:", "[db]@h3", "sleep:clock_nanosleep"),
                    300 * 0.00308)
        edges = {(edge["from"], edge["to"]): edge for edge in report["edges"]}
        self.assertGreaterEqual(edges["h2", "h1"]["messages"], 280)
        for edge in edges.values():
            self.assertGreater(edge["clock_bound_ns"], 0)
            self.assertLess(edge["transit_ns"], 50_000_000, "not an hour")
        self.assertLess(report["categories"]["remote_not_traced"], 0.02 * report["total_ns"])

    def wait_for(self, shards, enough):
        """The first shard's report when that is so; the client goes on meanwhile."""
        for _ in range(120):
            time.sleep(0.5)
            try:
                report = shards.report(0)
            except subprocess.CalledProcessError: # nothing is committed yet
                continue
            if enough(report):
                return report
        self.fail("it never came to that\n" + outline(report))

    def metrics(self, port):
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}

    def test_one_goes_on_when_the_other_is_killed(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        fleet, shards = self.fleet((["h1"], ["h2"]), "--give-up", "1000", own=["--metrics", "127.0.0.1:%d" % port])
        self.tier(fleet, "h2", "api", "--sleep", "4000")
        shards.record()
        web = self.client(fleet, 1000000)
        web.stdin.write("\n")
        web.stdin.flush()
        seen = ("[web]", "tcp:", "[api]@h2", "sleep:clock_nanosleep")
        before = self.wait_for(shards, lambda report: time_in(report, *seen) > 0.5)
        self.assertEqual(time_in(before, SILENT), 0, outline(before))
        shards.aggregators[1].kill()
        shards.aggregators[1].wait()
        self.wait_for(shards, lambda report: time_in(report, "[web]", SILENT) > 1)
        metrics = self.metrics(port)
        self.assertEqual(metrics['wakepath_aggregator_shard_up{shard="s1"}'], 0)
        self.assertGreater(metrics['wakepath_aggregator_shard_questions_total{answer="explained"}'], 0)
        self.assertGreater(metrics['wakepath_aggregator_shard_questions_total{answer="none"}'], 0)
        shards.aggregators[1] = shards.aggregate(1) # it comes back, and its collector to it
        unseen = shards.report(0)
        after = self.wait_for(shards, lambda report: time_in(report, *seen) > time_in(unseen, *seen) + 0.5)
        web.kill()
        web.wait()
        self.end(shards)
        self.assertGreaterEqual(after["categories"]["remote_not_traced"], 0.9e9)
        limits = {limit["name"]: limit for limit in after["limits"]}
        self.assertGreater(limits["shards"]["ns"], 0.9e9, "counted as a limit, too")


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("needs root")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
