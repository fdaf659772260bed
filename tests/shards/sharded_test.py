#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated fleets through two and three aggregators: sharded_test.py BIN. What their reports say together is held against what the
report of one aggregator says, and against what happened. WP_SEED=N takes another seed."""
import json, os, socket, subprocess, sys, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "fleetgen")]
import generated
from generated import Generated, blame, chains, differences, known
from sharded import replay, say

BIN = sys.argv[1]
SEED = int(os.environ.get("WP_SEED", "1"))

CHAIN = """hosts 4 cpus=4
service web hosts=1 threads=4 base pause=4000
 busy 200
 call api
 busy 100
service api hosts=1 threads=6
 busy 500
 call auth
 call db
service auth hosts=1 threads=4
 busy 300
service db hosts=1 threads=6
 busy 200
 disk 600
"""

SHOP = """hosts 8 cpus=4
service web hosts=2 threads=4 base pause=4000 outside=400
 busy 300
 call auth
 call api+search bytes=700
 busy 200
service auth hosts=1 threads=4 answer=120
 busy 150
service api hosts=2 threads=5 answer=40000
 busy 500
 sleep 400
 call db
service search hosts=1 threads=4 answer=20000
 busy 700
 call db
service db hosts=2 threads=4 answer=4000
 busy 200
 disk 500
links fan=2 delay=80 jitter=40 v6=200 coalesce=300 read=20000 asymmetric=300 %s
"""


class ShardedTest(unittest.TestCase):
    def fleet(self, plan, seconds=4):
        fleet = Generated(BIN, plan, SEED, seconds)
        self.addCleanup(fleet.close)
        return fleet

    def report(self, stores):
        report = json.loads(say(BIN, stores, "json"))
        report["folded"] = say(BIN, stores, "folded")
        return report

    def both(self, fleet, shares, *options, endpoints=None):
        """The report of one aggregator, and that of as many as there are shares."""
        fleet.replay(fleet.folder + "/one")
        stores = ["%s/s%d" % (fleet.folder, i) for i in range(len(shares))]
        replay(BIN, shares, stores, *options, endpoints=endpoints)
        return self.report([fleet.folder + "/one"]), self.report(stores)

    def check(self, fleet, one, many):
        """The clocks may be told apart otherwise within their bound: no more than that."""
        apart, rows = differences(blame(many["folded"]), blame(one["folded"]))
        self.assertLess(apart, 0.002, "\n".join(rows[:8]))
        wrong, rows = differences(blame(many["folded"]), known(fleet.truth))
        self.assertLess(wrong, 0.006, "\n".join(rows[:8]))
        self.assertEqual(chains(many["folded"]), chains(one["folded"]))
        self.assertAlmostEqual(many["total_ns"], one["total_ns"], delta=0.002 * one["total_ns"])
        self.assertEqual(many["wall_ns"], one["wall_ns"])
        self.assertEqual([limit for limit in many["limits"] if limit["name"] == "shards"], [], "each question is answered, however busy the machine")
        edges = [{(e["from"], e["to"]): e for e in report["edges"]} for report in (one, many)]
        for pair, edge in edges[0].items():
            self.assertAlmostEqual(edges[1][pair]["messages"], edge["messages"], delta=2 + edge["messages"] * 0.01)
            self.assertGreater(edges[1][pair]["clock_bound_ns"], 0)
        self.assertEqual({p["host"] for p in many["processes"]}, {p["host"] for p in one["processes"]})

    def test_a_chain_that_crosses_at_each_hop(self):
        fleet = self.fleet(CHAIN)
        self.check(fleet, *self.both(fleet, [fleet.captures[::2], fleet.captures[1::2]]))

    def test_translation_and_short_connections(self):
        fleet = self.fleet(SHOP % "nat=300 reconnect=40 retransmit=1")
        self.check(fleet, *self.both(fleet, [fleet.captures[::2], fleet.captures[1::2]]))

    def test_connections_older_than_the_recording_on_three_shards(self):
        fleet = self.fleet(SHOP % "old=500")
        self.check(fleet, *self.both(fleet, [fleet.captures[i::3] for i in range(3)]))

    def by_tcp(self, fleet, *keys):
        """Endpoints of two shards whose keys were made so."""
        folder, endpoints = fleet.folder + "/keys", []
        for name, what in (*zip(("s0", "s1"), keys), ("all", "--host=any")):
            subprocess.run([BIN + "/wakepath", "keygen", "--dir", folder, what, name], check=True, capture_output=True)
        for i in range(2):
            with socket.create_server(("127.0.0.1", 0)) as taken:
                endpoints.append({"endpoint": "tcp://127.0.0.1:%d" % taken.getsockname()[1], "key": "%s/s%d.key" % (folder, i),
                                  "public": "%s/s%d.pub" % (folder, i), "allow": folder, "collector": folder + "/all.key"})
        return endpoints

    def test_by_tcp_with_keys(self):
        fleet = self.fleet(CHAIN, seconds=2)
        endpoints = self.by_tcp(fleet, "--shard", "--shard")
        self.check(fleet, *self.both(fleet, [fleet.captures[::2], fleet.captures[1::2]], endpoints=endpoints))

    def test_a_collectors_key_does_not_make_a_shard(self):
        fleet = self.fleet(CHAIN, seconds=1)
        endpoints, stores = self.by_tcp(fleet, "--shard", "--host=any"), [fleet.folder + "/s0", fleet.folder + "/s1"]
        replay(BIN, [fleet.captures[:1], fleet.captures[1:]], stores, "--expect-hosts", "0", endpoints=endpoints)
        report = self.report(stores[:1])
        self.assertEqual({p["host"] for p in report["processes"]}, {"h1"})
        self.assertGreater(report["categories"]["remote_not_traced"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
