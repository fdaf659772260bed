#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where Go's goroutines sleep, against what the program itself says: live_go_test.py FACTS_DUMP FOLDER CACHE_DIR. As it is built plainly,
stripped, to be anywhere in memory, and linked by C's linker; by the machine's Go, and by those that other releases of Debian have
(tests/debian_root.py), which are kept in CACHE_DIR. WAKEPATH_GO: another go command than the machine's."""
import os, re, shutil, subprocess, sys, tempfile, unittest

from live_facts_test import TIMER, record

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import debian_root

CACHE = sys.argv[3]
GO = os.environ.get("WAKEPATH_GO", "go")
RELEASES = {"1.24": ("trixie", ["stripped"]), "1.26": ("sid", ["anywhere"])} # where it is, and what is built
FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "go_fixture.go")
BUILDS = {"plain": (), "stripped": ("-ldflags=-s -w",), "anywhere": ("-buildmode=pie",), "linked by C": ("-ldflags=-linkmode=external",)}
WAYS = {"napSleep", "napAfter", "napSelect", "napTick"}
EPOLL_PWAIT = 281
NEAR_NS = 1_500_000  # two that are due within it may be either: what a program notes is a little before it sleeps
SECONDS = "3"


def run(*command, **variables):
    return subprocess.run(command, check=True, capture_output=True, text=True, env=dict(os.environ, GO111MODULE="off", **variables)).stdout


class Compiler:
    """The machine's, or a release's."""
    def __init__(self, version):
        self.version = version
        suite, self.builds = RELEASES.get(version, ("", BUILDS))
        self.root = suite and debian_root.unpacked(suite, [f"golang-{version}-go"], CACHE)

    def build(self, folder, name, options):
        if not self.root:
            run(GO, "build", "-o", f"{folder}/{name}", *options, FIXTURE)
            return
        shutil.copy(FIXTURE, folder)
        run(*debian_root.command(self.root, folder, [f"/usr/lib/go-{self.version}/bin/go", "build", "-o", f"/mnt/{name}", *options,
                                                     "/mnt/go_fixture.go"]), GOCACHE="/tmp/go", HOME="/tmp", CGO_ENABLED="0")


class Program:
    """The fixture in one build; its functions are those of the same build with symbols."""
    def __init__(self, folder, compiler, build):
        name = f"{build} {compiler.version}".strip().replace(" ", "_")
        self.path = f"{folder}/{name}"
        compiler.build(folder, name, BUILDS[build])
        named = self.path
        if build == "stripped":
            named += ".named"
            compiler.build(folder, name + ".named", ())
        rows = [line.split() for line in run("nm", "-S", named).splitlines()]
        self.functions = {row[3][5:]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4 and row[3].startswith("main.nap")}
        loads = re.findall(r"LOAD +0x\w+ 0x(\w+)", run("readelf", "-lW", self.path))
        self.lowest = min(int(address, 16) for address in loads)

    def work(self):
        """Its pid, and [(where, begin, due)]; sets where it lay."""
        process = subprocess.Popen([self.path, SECONDS, self.path + ".naps"])
        starts = []
        while not starts: # it is on its way from its exec
            with open(f"/proc/{process.pid}/maps", encoding="ascii") as file:
                starts = [int(line.split("-")[0], 16) for line in file if line.rstrip().endswith(self.path)]
        self.base = min(starts) - self.lowest
        assert process.wait() == 0
        with open(self.path + ".naps", encoding="ascii") as file:
            return process.pid, [(row[0], int(row[1]), int(row[2])) for row in map(str.split, file)]

    def naps_in(self, ips):
        return {name for name, (begin, size) in self.functions.items() for ip in ips if begin < ip - self.base <= begin + size}


def timed_sleeps(facts, pid):
    """[(when it began, addresses)] of the sleeps of the loop that a timer ended; no addresses: nothing was told of whose it was."""
    stacks, slept, rows = {}, {}, []
    for fact in facts:
        if "ips" in fact and fact["stack_key"]:
            stacks[fact["stack_key"]] = fact["ips"]
        if fact["kind"] == "switch" and fact["pid"] == pid:
            slept[fact["tid"]] = fact
        if fact["kind"] == "waking" and fact["other_pid"] == pid and fact["c"] == TIMER:
            switch = slept.pop(fact["other_tid"], None)
            if switch and switch["d"] - 1 == EPOLL_PWAIT:
                rows.append((switch["t"], stacks.get(fact["stack_key"], ())))
    return rows


class Go(unittest.TestCase):
    def compilers(self):
        """Those that can be had; others are said."""
        found = []
        for version in ("", *RELEASES):
            with self.subTest(version):
                if not version and not shutil.which(GO):
                    self.skipTest("no Go (package golang-go)")
                try:
                    found.append(Compiler(version))
                except debian_root.Missing as why:
                    self.skipTest(" ".join(str(why).replace("'", "").split())) # in one line, without quotes: it is counted (tests/repeated.py)
        return found

    def compare(self, name, program, naps, rows):
        right, silent, wrong, met = 0, 0, [], set()
        for began, ips in rows:
            next_due = min((due for _, begin, due in naps if begin <= began < due), default=0)
            first = {where for where, begin, due in naps if begin <= began and began - NEAR_NS < due < next_due + NEAR_NS}
            said = program.naps_in(ips)
            if not ips:
                silent += bool(first) and first <= WAYS
            elif said and said <= first and len(said) == 1:
                right += 1
                met |= said
            elif first: # else the program ends
                wrong.append((first, said))
        print(f"{name}: {right} right, {silent} not told, {len(wrong)} wrong of {len(rows)}", file=sys.stderr)
        self.assertEqual(met, WAYS)
        self.assertLessEqual(len(wrong), right / 10, wrong[:5])
        self.assertLess(silent, right / 3)

    def test_the_goroutine_is_named_whose_timer_ended_the_sleep(self):
        with tempfile.TemporaryDirectory() as folder:
            programs = {f"{build} {compiler.version}".strip(): Program(folder, compiler, build)
                        for compiler in self.compilers() for build in compiler.builds}
            told, facts = record(lambda: {name: program.work() for name, program in programs.items()})
            for name, program in programs.items():
                with self.subTest(name):
                    pid, naps = told[name]
                    self.compare(name, program, naps, timed_sleeps(facts, pid))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
