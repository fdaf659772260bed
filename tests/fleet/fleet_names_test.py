#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two hosts run one binary: one of them reads it, both have names. fleet_names_test.py BIN_DIR"""
import os, re, shutil, socket, subprocess, sys, tempfile, time, unittest, urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fleet_net import Fleet, stop

BIN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))


def read_by(log, program):
    """How often the collector that wrote this log read the program's functions."""
    with open(log, encoding="utf-8") as file:
        return len(re.findall(r"functions are known file=\S*" + re.escape(program) + " ", file.read()))


class FleetNames(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder)
        self.programs = {host: os.path.join(self.folder, "shop_" + host) for host in "ab"}  # two files of one build
        subprocess.run(["g++", "-O2", "-g", "-Wl,--build-id=sha1", "-o", self.programs["a"], f"{HERE}/names_shop.cc"], check=True)
        shutil.copy(self.programs["a"], self.programs["b"])
        self.fleet = Fleet(BIN, ["a", "b"])
        self.addCleanup(self.fleet.close)
        self.aggregate()

    def aggregate(self, *options):
        self.fleet.aggregate("--aggregate", "a=comm=shop_a", "--aggregate", "b=comm=shop_b", *options)

    def collect(self, host, *options):
        log = open(f"{self.folder}/{host}.log", "w", encoding="utf-8")
        self.addCleanup(log.close)
        return self.fleet.collect(host, "--log-level", "debug", *options, stderr=log)

    def run_on(self, host, word, seconds):
        return self.fleet.run(host, self.programs[host], word, seconds)

    def finish(self, collectors):
        self.assertEqual(stop(collectors), [0] * len(collectors))
        stop([self.fleet.aggregator])
        return {host: self.fleet.report(host)["folded"] for host in "ab"}, \
            {host: read_by(f"{self.folder}/{host}.log", "/shop_" + host) for host in "ab"}

    def named(self, folded, word):
        rows = [line.rpartition(" ") for line in folded.splitlines() if "clock_nanosleep" in line]
        whole = sum(int(ns) for _, _, ns in rows)
        return sum(int(ns) for stack, _, ns in rows if re.search(rf";main;shop::{word};(shop::)?pause_ms;", stack)) / max(whole, 1)

    def test_one_reads_for_both(self):
        collectors = [self.collect("a"), self.collect("b")]
        programs = [self.run_on("a", "buy", 4)]
        time.sleep(1.5)  # no matter how long: so that b asks for a function that a has met, and for one that it has not
        programs += [self.run_on("b", "sell", 3), self.run_on("b", "buy", 3)]
        for program in programs:
            program.wait()
        folded, reads = self.finish(collectors)
        self.assertGreater(self.named(folded["a"], "buy"), 0.5, folded["a"])
        self.assertGreater(self.named(folded["b"], "buy"), 0.2, folded["b"])
        self.assertGreater(self.named(folded["b"], "sell"), 0.2, folded["b"])
        self.assertEqual(reads, {"a": 1, "b": 0})

    def test_the_reader_leaves(self):
        collectors = [self.collect("a"), self.collect("b")]
        self.run_on("a", "buy", 2).wait()
        self.assertEqual(stop(collectors[:1]), [0])
        self.run_on("b", "sell", 6).wait()  # a's names do not have it, and a is gone
        folded, reads = self.finish(collectors[1:])
        self.assertGreater(self.named(folded["a"], "buy"), 0.5, folded["a"])
        self.assertGreater(self.named(folded["b"], "sell"), 0.3, folded["b"])
        self.assertEqual(reads, {"a": 1, "b": 1})

    def test_the_aggregator_restarts(self):
        """What one host has told before it, another one gets after it, and needs not read."""
        collector = self.collect("a")
        self.run_on("a", "buy", 2).wait()
        self.assertEqual(stop([collector]), [0])
        self.assertEqual(stop([self.fleet.aggregator]), [0])
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.aggregate("--metrics", f"127.0.0.1:{port}")
        collector, known, until = self.collect("b"), 0.0, time.monotonic() + 60
        while not known and time.monotonic() < until:  # a host that is busy asks late
            self.run_on("b", "buy", 3).wait()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                known = float(re.search(r'names_asked_total\{by="memory"\} (\S+)', answer.read().decode())[1])
        self.assertEqual(stop([collector]), [0])
        self.assertGreater(known, 0)
        stop([self.fleet.aggregator])
        self.assertGreater(self.named(self.fleet.report("b")["folded"], "buy"), 0.2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
