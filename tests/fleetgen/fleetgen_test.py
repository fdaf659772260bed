#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated fleets through the real programs: fleetgen_test.py BIN. All captures of a fleet are replayed into one aggregator, and what
its report blames is held against what happened. WP_SEED=N takes another seed."""
import filecmp, json, os, re, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from generated import Generated, aggregator, blame, chains, differences, known, network, say

BIN = sys.argv[1]
SEED = int(os.environ.get("WP_SEED", "1"))

ALONE = """hosts 1 cpus=4
service web hosts=1 threads=4 base pause=4000
 busy 200
 sleep 300
"""
CHAIN = """hosts 3 cpus=4
service web hosts=1 threads=4 base pause=4000
 busy 200
 call api
 busy 100
service api hosts=1 threads=6
 busy 500
 sleep 800
 call db
service db hosts=1 threads=6
 busy 200
 disk 600
"""
CHAIN_HOPS = {("web",), ("web", "api"), ("web", "api", "db")}

SHOP = """hosts 10 cpus=4 %s
service web hosts=2 threads=6 base pause=3000 outside=400
 busy 300
 call auth
 busy 100
 call api+search bytes=700
 busy 200
service auth hosts=1 threads=4 answer=120
 busy 150
 fork 700
service api hosts=3 threads=5 answer=90000
 busy 500
 sleep 400
 call db
 busy 100
service search hosts=2 threads=3 answer=30000
 busy 900
 call db
service db hosts=2 threads=4 answer=4000
 busy 200
 disk 500
links fan=2 delay=80 jitter=40 v6=200 coalesce=300 read=20000 asymmetric=300 %s
"""
SHOP_HOPS = {("web",), ("web", "auth"), ("web", "auth", "helper"), ("web", "api"), ("web", "api", "db"), ("web", "search"),
             ("web", "search", "db")}

MANY = """hosts 30 cpus=2
service web hosts=4 threads=6 base pause=4000 outside=300
 busy 300
 call auth
 call api+search bytes=700
 busy 200
service auth hosts=3 threads=6 answer=120
 busy 150
 call cache
service api hosts=8 threads=6 answer=40000
 busy 400
 call cache
 call db+store
 busy 100
service search hosts=4 threads=4 answer=20000
 busy 900
 call index
service index hosts=4 threads=5
 busy 200
 disk 300
service cache hosts=2 threads=8
 busy 60
service db hosts=3 threads=8 answer=4000
 busy 200
 disk 300
service store hosts=2 threads=8 answer=12000
 sleep 500
 busy 200
 fork 300
links fan=2 delay=80 jitter=40 v6=200 retransmit=1 coalesce=300 read=20000 asymmetric=300 nat=200 reconnect=50
"""
MANY_HOPS = {("web",), ("web", "auth"), ("web", "auth", "cache"), ("web", "api"), ("web", "api", "cache"), ("web", "api", "db"),
             ("web", "api", "store"), ("web", "api", "store", "helper"), ("web", "search"), ("web", "search", "index")}


class FleetgenTest(unittest.TestCase):
    def fleet(self, plan, seconds=5, seed=SEED):
        fleet = Generated(BIN, plan, seed, seconds)
        self.addCleanup(fleet.close)
        return fleet

    def report(self, fleet, name="store"):
        store = fleet.folder + "/" + name
        fleet.replay(store)
        report = json.loads(say(BIN, store, "json"))
        report["folded"], report["network"] = say(BIN, store, "folded"), network(BIN, store)
        return report

    def check_blame(self, fleet, report, hops, tolerance=0.005):
        wrong, rows = differences(blame(report["folded"]), known(fleet.truth))
        self.assertLess(wrong, tolerance, "\n".join(rows[:8]))
        self.assertEqual(hops - chains(report["folded"]), set(), "hops that are not found")
        found, total = sum(blame(report["folded"]).values()), fleet.truth["total_ns"]
        self.assertGreater(found / total, 0.995)
        self.assertLess(found / total, 1.01) # with waits that go on at the recording's end, of which the truth knows nothing

    def check_matching(self, fleet, report, recall=0.995):
        """T3: what was read from whom."""
        read = matched = wrong = 0
        for pair in fleet.truth["reads"]:
            count = report["network"].get((pair["from"], pair["to"]), {}).get("messages", 0)
            if pair["from"]:
                read += pair["reads"] - pair["unmatchable"]
                matched += min(count, pair["reads"])
                wrong += max(count - pair["reads"], 0)
        there = {(pair["from"], pair["to"]) for pair in fleet.truth["reads"]}
        wrong += sum(row["messages"] for pair, row in report["network"].items() if pair[0] and pair not in there)
        self.assertGreaterEqual(matched, recall * read)
        self.assertLessEqual(wrong, 0.0001 * matched)
        told = [row.get("retransmits", 0) + row.get("unpaired_retransmits", 0) for row in report["network"].values()]
        self.assertLessEqual(sum(told), fleet.truth["retransmits"])
        self.assertGreaterEqual(sum(told), 0.8 * fleet.truth["retransmits"])  # of a host that has left nobody tells any more

    def check_edges(self, fleet, report):
        """Who answered is an edge, with a bound."""
        edges = {(edge["from"], edge["to"]): edge for edge in report["edges"]}
        for connection in fleet.truth["connections"]:
            if connection["answered"] > 100 * 500:
                edge = edges[connection["to"], connection["from"]]
                self.assertGreater(edge["messages"], 0)
                self.assertGreater(edge["clock_bound_ns"], 0)
                if edge["messages"] >= 300: # one that is sent again takes 200 ms
                    self.assertLess(edge["transit_ns"], 5_000_000)

    def check(self, fleet, hops):
        report = self.report(fleet)
        self.check_blame(fleet, report, hops)
        self.check_matching(fleet, report)
        self.check_edges(fleet, report)
        return report

    def test_chain_of_three_hosts(self):
        for seed in (SEED, SEED + 1):
            self.check(self.fleet(CHAIN, seed=seed), CHAIN_HOPS)

    def test_ten_hosts_with_translation_and_short_connections(self):
        self.check(self.fleet(SHOP % ("", "nat=300 reconnect=40 retransmit=1")), SHOP_HOPS)

    def test_ten_hosts_with_connections_older_than_the_recording(self):
        self.check(self.fleet(SHOP % ("", "old=500 retransmit=1")), SHOP_HOPS)

    def test_thirty_hosts(self):
        self.check(self.fleet(MANY, seconds=4), MANY_HOPS)

    def test_what_was_lost_is_uncertain(self):
        fleet = self.fleet(SHOP % ("losses=3", ""))
        report = self.report(fleet)
        wrong, rows = differences(blame(report["folded"]), known(fleet.truth))
        self.assertGreater(report["events"]["dropped"], 1000)
        self.assertLess(wrong, 0.05, "\n".join(rows[:8]))
        self.assertGreater(report["uncertain_ns"], wrong * fleet.truth["total_ns"], "more is wrong than is called uncertain")

    def test_connections_that_nothing_tells_of(self):
        """Older than the recording and translated: not matched, never matched wrongly."""
        fleet = self.fleet(SHOP % ("", "old=1000 nat=500"))
        report = self.report(fleet)
        self.check_matching(fleet, report, recall=0.98)
        self.assertGreater(sum(pair["unmatchable"] for pair in fleet.truth["reads"]), 1000)
        self.assertGreater(blame(report["folded"])["web", "remote_not_traced"], known(fleet.truth)["web", "remote_not_traced"])

    def test_windows_stand_for_the_whole(self):
        """Half a second of each second on all hosts, whose clocks disagree: scaled, it is what happened."""
        fleet = Generated(BIN, SHOP % ("", "nat=300"), SEED, 6, window="500ms every 1s")
        self.addCleanup(fleet.close)
        report = self.report(fleet)
        self.assertAlmostEqual(report["coverage"], 0.5, delta=0.05)
        found = {place: ns / report["coverage"] for place, ns in blame(report["folded"]).items()}
        wrong, rows = differences(found, known(fleet.truth))
        self.assertLess(wrong, 0.05, "\n".join(rows[:8]))
        self.assertEqual(SHOP_HOPS - chains(report["folded"]), set())
        self.assertAlmostEqual(report["estimated_total_ns"] / fleet.truth["total_ns"], 1, delta=0.08)

    def test_removal_under_an_aggregator(self):
        """What is named goes while it writes; all the rest is, byte for byte, what it is where nothing was removed."""
        fleets = [Generated(BIN, ALONE, seed, 3, release="r") for seed in (SEED, SEED + 1)]
        for fleet in fleets:
            self.addCleanup(fleet.close)
        day, session, values = 1763596800, "07070707", []
        for names in ([], [f"r:main@{day}", f"r@{day + 3600}", "r/" + session, "r:old"]):
            store, gone = f"{fleets[0].folder}/store{len(names)}", set()
            subprocess.run([BIN + "/store_maker", store, "r", "s", *(f"time:{name}:{day + hour * 3600}:5" for name in ("main", "old") for hour in (0, 1, 2)),
                            f"session:7:3:{day}"], check=True)
            with aggregator(BIN, store, len(fleets)) as endpoint:
                for fleet in fleets:
                    senders = [subprocess.Popen([BIN + "/wakepath-collector", "--source", "capture:" + capture, "--connect", endpoint, "--spool", "none",
                                                 "--log-level", "warn"]) for capture in fleet.captures]
                    for name in names[:2]:
                        done = subprocess.run([BIN + "/wakepath-store", "rm", store, name, "--json"], check=True, capture_output=True, text=True)
                        gone |= {"r/" + row["key"] for row in json.loads(done.stdout)["gone"]}
                    names = names[2:]
                    self.assertEqual([sender.wait(timeout=120) for sender in senders], [0])
            subprocess.run([BIN + "/wakepath-store", "verify", store], check=True, capture_output=True)
            dump = subprocess.run([BIN + "/wakepath-store", "dump", store, "--json"], check=True, capture_output=True, text=True)
            values.append({f"r/{value['key']}": value["digest"] for release in json.loads(dump.stdout) for value in release["values"]})
        self.assertEqual(len([key for key in gone if f".{day + 3600}." in key]), 2)
        self.assertTrue(any("/processed." + session in key for key in gone), gone)
        self.assertEqual(gone & set(values[1]), set())
        sums = [{key: digest for key, digest in one.items() if re.search("/(report|trace|exemplar)", key)} for one in values]
        self.assertTrue([key for key in sums[1] if key.startswith("r/web")], sums[1])
        self.assertEqual({key: digest for key, digest in sums[0].items() if key not in gone}, sums[1])

    def test_again_gives_the_same(self):
        fleet, again = self.fleet(SHOP % ("", "nat=300"), seconds=4), self.fleet(SHOP % ("", "nat=300"), seconds=4)
        for one, other in zip(fleet.captures, again.captures):
            self.assertTrue(filecmp.cmp(one, other, shallow=False), "the same seed makes the same captures")
        first, second = self.report(fleet, "first"), self.report(fleet, "second")
        self.assertEqual(first["categories"], second["categories"])
        self.assertEqual(sorted(first["folded"].splitlines()), sorted(second["folded"].splitlines()))
        fleet.captures.reverse() # in another order the clocks are compared in another order
        third = self.report(fleet, "third")
        self.assertEqual(sum(blame(first["folded"]).values()), sum(blame(third["folded"]).values()))
        self.assertLess(differences(blame(first["folded"]), blame(third["folded"]))[0], 0.001)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
