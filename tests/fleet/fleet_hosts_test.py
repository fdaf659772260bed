#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts of one aggregator, told apart when reading: fleet_hosts_test.py BIN TIER. h1 and h2 run the same service and wait for
another one each; h2 runs a second release of it, too. Everything is read from one recording."""
import json, os, re, subprocess, sys, time, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path += [HERE, TREE + "/tests/storage"]
from fleet_net import Fleet, sh, stop
from fleet_report import outline, time_in
from second_reader import Reader

BIN, TIER = sys.argv[1], sys.argv[2]
SUMS = ("total_ns", "detached_ns", "uncertain_ns")


def reporter(*words, check=True):
    run = subprocess.run([BIN + "/wakepath-reporter", *words], capture_output=True, text=True, timeout=300)
    if check:
        assert run.returncode == 0, (words, run.stdout, run.stderr)
    return run


def payload(path):
    """What a data file of the site says, as its pages take it."""
    with open(path, encoding="utf-8") as file:
        return json.loads(re.sub(r',\s*"end":0\}$', "}", re.match(r'wakepath\.data\("[^"]*",(.*)\);\s*$', file.read(), re.S).group(1)))


class HostsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = fleet = Fleet(BIN, ("h1", "h2", "h3"))
        cls.addClassCleanup(fleet.close)
        fleet.aggregate("--aggregate", "web=comm=web", "--expect-hosts", "3")
        for host, name, sleep in (("h3", "api", "2000"), ("h1", "slow", "6000")):
            child = fleet.run(host, TIER, "--name", name, "--listen", fleet.address(host) + ":7000", "--sleep", sleep)
            assert child.stdout.readline() == "listening\n"
        collectors = [fleet.collect(host) for host in fleet.hosts]
        clients = []
        for host, release, to in (("h1", "v1", "h3"), ("h2", "v1", "h1"), ("h2", "v2", "h1")):
            client = fleet.run(host, TIER, "--name", "web", "--requests", "400", "--pause", "1000", "--next",
                               fleet.address(to) + ":7000", env={**os.environ, "WAKEPATH_RELEASE": release})
            assert client.stdout.readline() == "connected\n"
            clients.append(client)
        for client in clients:
            client.stdin.write("\n")
            client.stdin.flush()
        for client in clients:
            client.communicate(timeout=120)
        time.sleep(0.5)
        assert set(stop(collectors)) == {0}
        fleet.aggregator.terminate()
        assert fleet.aggregator.wait(timeout=60) == 0

    def report(self, *options, release="v1"):
        def say(form):
            return reporter("--store", self.fleet.store, "--format", form, "--release", release, "--aggregate", "web", *options).stdout
        return {**json.loads(say("json")), "folded": say("folded")}

    def test_hosts_add_up_to_the_whole(self):
        whole, hosts = self.report(), [self.report("--hosts", host) for host in ("h1", "h2")]
        for name in SUMS:
            self.assertEqual(sum(host[name] for host in hosts), whole[name], name)
        for category, ns in whole["categories"].items():
            self.assertEqual(sum(host["categories"][category] for host in hosts), ns, category)
        self.assertEqual(reporter("--store", self.fleet.store, "--format", "folded", "--release", "v1", "--hosts", "h?").stdout, whole["folded"])
        self.assertEqual([host["hosts"] for host in hosts], [1, 1])

    def test_each_host_has_what_it_waited_for(self):
        one, other = self.report("--hosts", "h1"), self.report("--hosts", "!h1")
        sleep = "sleep:clock_nanosleep"
        self.assertGreater(time_in(one, "[web]", "[api]@h3", sleep), 0.8 * 400 * 0.002, outline(one))
        self.assertEqual(time_in(one, "[web]", "[slow]@h1"), 0, outline(one))
        self.assertGreater(time_in(other, "[web]", "[slow]@h1", sleep), 0.8 * 400 * 0.006, outline(other))
        self.assertEqual(time_in(other, "[web]", "[api]@h3"), 0, outline(other))
        self.assertLessEqual({"h1", "h3"}, {row["host"] for row in one["processes"]})

    def test_query(self):
        def ask(*options):
            said = json.loads(reporter("query", "--store", self.fleet.store, "--release", "v1", "--format", "json", "--by", "process",
                                       *options).stdout)["releases"][0]
            return said["total_ns"], {row["process"]: row["ns"] for row in said["rows"]}
        total, names = ask("--hosts", "h1")
        self.assertEqual(total, self.report("--hosts", "h1")["total_ns"])
        self.assertLess(names.get("slow", 0), 0.01 * total, names)
        self.assertGreater(names["api"], 0.3 * total, names)
        self.assertEqual(total + ask("--hosts", "h2,h3")[0], ask()[0])
        none = reporter("query", "--store", self.fleet.store, "--hosts", "nobody", check=False)
        self.assertEqual(none.returncode, 1)
        self.assertIn("has no release", none.stderr)

    def test_the_pages(self):
        out = self.fleet.folder + "/site"
        reporter("--store", self.fleet.store, "--out", out, "--release", "v1", "--canary", "h2", "--quiet")
        folder = out + "/v1/web"
        rows = {row[0]: row for row in payload(folder + "/origins-data.js")["rows"]}
        self.assertEqual(set(rows), {"h1", "h2"})
        for place, (name, row) in enumerate(rows.items()):
            self.assertEqual(row[2], self.report("--hosts", name)["total_ns"])
            self.assertEqual(sum(payload(f"{folder}/origin-{place + 1}-data.js")["ns"]), row[2])
        with open(folder + "/behind.html", encoding="utf-8") as page:
            self.assertNotIn("not separated", page.read())
        with open(folder + "/canary.html", encoding="utf-8") as page:
            text = page.read()
        self.assertIn("all but h2", text)
        self.assertIn("slow", text)

    def test_two_hosts_are_compared(self):
        found = json.loads(reporter("check", "--store", self.fleet.store, "--aggregate", "web", "--format", "json", "v1/h1", "v1/h2",
                                    check=False).stdout)
        self.assertEqual([found["old"]["total_ns"], found["new"]["total_ns"]],
                         [self.report("--hosts", host)["total_ns"] for host in ("h1", "h2")])
        hops = {row["name"]: (row["old"]["ns"], row["new"]["ns"]) for row in found["hops"] if row["category"] == "deliberate_sleep"}
        self.assertEqual(hops["web › slow on h1"][0], 0, hops)
        self.assertEqual(hops["web › api on h3"][1], 0, hops)
        self.assertEqual([found["old"]["hosts"], found["new"]["hosts"]], ["h1", "h2"])
        canary = json.loads(reporter("check", "--store", self.fleet.store, "--aggregate", "web", "--format", "json", "--canary", "h2", "v1",
                                     check=False).stdout)
        self.assertEqual(canary["new"]["total_ns"], found["new"]["total_ns"])

    def test_a_release_on_one_host(self):
        run = reporter("check", "--store", self.fleet.store, "--aggregate", "web", "--same-time", "v1", "v2", check=False)
        self.assertIn(run.returncode, (0, 2), run.stderr)
        self.assertIn("at the same time", run.stdout)
        run = reporter("check", "--store", self.fleet.store, "--aggregate", "web", "--same-time", "--format", "json", "v1/h2", "v2/h2", check=False)
        found = json.loads(run.stdout)
        self.assertEqual(found["old"]["total_ns"], self.report("--hosts", "h2")["total_ns"])
        self.assertEqual(found["new"]["total_ns"], self.report("--hosts", "h2", release="v2")["total_ns"])

    def test_the_store(self):
        self.assertIn("@h2\n", sh(BIN + "/wakepath-store", "ls", "-R", self.fleet.store, "v1"))
        sh(BIN + "/wakepath-store", "verify", self.fleet.store)
        found = Reader(TREE + "/proto/store.proto").read(self.fleet.store + "/v1")
        reports = {key: value for key, value in found.items() if value["kind"] == "report" and "web/" in key}
        self.assertTrue(all("@" in key for key in reports), list(reports))
        total = sum(value["head"]["total_ns"] for value in reports.values())
        self.assertEqual(total, self.report()["total_ns"])


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("needs root")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
