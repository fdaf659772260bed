#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settings that change while the real daemons trace the real kernel: aggregates, releases, command lines; and a file with one
mistake, of which nothing is taken. Usage: reload_test.py BIN GENERATED SOURCE"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN, _, SOURCE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
NAMED = "import sys, time\nopen('/proc/self/comm', 'w').write(sys.argv[1])\nwhile True: time.sleep(0.02)"


class ReloadTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wakepath-reload-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.daemons = {}
        self.lines = {"aggregator": [f'bind = "ipc://{self.path("events")}"', f'store = "{self.path("store")}"', 'lateness = 500'],
                      "collector": [f'connect = "ipc://{self.path("events")}"', 'release = r']}

    def path(self, name):
        return os.path.join(self.folder, name)

    def log(self, name):
        with open(self.path(name + ".log"), encoding="utf-8") as file:
            return file.read()

    def until(self, what, ask):
        for _ in range(600):
            got = ask()
            if got:
                return got
            time.sleep(0.1)
        return self.fail(f"waited for: {what}\n" + "\n".join(self.log(name) for name in self.daemons))

    def settle(self, name, *lines):
        """Writes the file; a daemon that runs is told, and the lines of its log since then come back."""
        with open(self.path(name + ".conf"), "w", encoding="utf-8") as file:
            file.write("\n".join([*self.lines[name], *lines]) + "\n")
        if name not in self.daemons:
            return ""
        before = len(self.log(name))
        self.daemons[name].send_signal(signal.SIGHUP)
        return self.until("a word on the reload", lambda: re.search(r"(?s)(cannot reload the configuration|the configuration was reloaded).*\n",
                                                                    self.log(name)[before:])).group()

    def start(self, name, *lines, told):
        self.settle(name, *lines)
        with open(self.path(name + ".log"), "wb") as log:
            self.daemons[name] = subprocess.Popen([f"{BIN}/wakepath-{name}", "--config", self.path(name + ".conf")], stderr=log,
                                                  env={"PATH": os.environ["PATH"]})
        self.addCleanup(self.daemons[name].wait)
        self.addCleanup(self.daemons[name].kill)
        self.until(told, lambda: told in self.log(name))

    def run_named(self, *words, **env):
        child = subprocess.Popen([sys.executable, "-c", NAMED, *words], env={**os.environ, **env})
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)

    def report(self, aggregate, release="r"):
        done = subprocess.run([f"{BIN}/wakepath-reporter", "--store", self.path("store"), "--release", release, "--aggregate",
                               aggregate, "--format", "json"], capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def total(self, aggregate, release="r"):
        report = self.report(aggregate, release)
        return report["total_ns"] / 1e9 if report else 0

    def begin(self, *collector, aggregates=('aggregate = "one=comm=wprone"',)):
        self.start("aggregator", *aggregates, told="listening")
        self.start("collector", *(collector or ("overhead-limit = none",)), told="collecting")

    def finish(self):
        for name in ("collector", "aggregator"):
            self.daemons[name].terminate()
            self.assertEqual(self.daemons[name].wait(60), 0, self.log(name))

    def test_aggregates_change_for_processes_that_run(self):
        self.run_named("wprone")
        self.run_named("wprtwo")
        self.begin()
        self.until("time of the first", lambda: self.total("one") > 3)
        self.assertIsNone(self.report("two"))
        explained_ns = self.report("one")["last_ns"]  # an epoch that is explained has the aggregates of before
        log = self.settle("aggregator", 'aggregate = {"two=comm=wprtwo", "few=comm=nobody"}')
        self.assertIn('key=aggregate value="two=comm=wprtwo, few=comm=nobody"', log)
        self.until("time of the second", lambda: self.total("two") > 3)
        one = self.total("one")
        self.settle("aggregator", 'aggregate = {"two=comm=wprtwo", "one=comm=wprone"}')
        self.until("more of the first", lambda: self.total("one") > one + 1)
        self.finish()
        one, two = self.report("one"), self.report("two")
        # Nothing of the time before is told of what came later, nor of the time between of what had gone.
        self.assertGreater(two["first_ns"], explained_ns - 2e9)
        self.assertLess(two["total_ns"], two["last_ns"] - explained_ns + 2e9)
        self.assertLess(one["total_ns"], one["last_ns"] - one["first_ns"] - 2e9)

    def test_rules_of_releases_change(self):
        self.run_named("wprone")
        self.begin()
        self.until("time of the host's release", lambda: self.total("one") > 1)
        self.settle("aggregator", 'aggregate = "one=comm=wprone"', 'release-rule = "next=comm=wprone"')
        self.until("time of the other release", lambda: self.total("one", "next") > 1)
        before = self.total("one")
        self.until("more of it", lambda: self.total("one", "next") > 2)
        self.assertEqual(self.total("one"), before)
        self.finish()

    def test_services_by_themselves(self):
        """What the settings are without aggregates: the busiest services; and back."""
        self.run_named("wprone")
        self.begin()
        self.until("time of it", lambda: self.total("one") > 1)
        self.settle("aggregator", "auto-aggregates = 60")
        names = self.until("aggregates of services", lambda: [name for name in self.aggregates() if name != "one"])
        self.settle("aggregator", 'aggregate = "one=comm=wprone"')
        before = self.total("one")
        self.until("more of the first", lambda: self.total("one") > before + 1)
        told = {name: self.total(name) for name in names}
        self.until("still more of it", lambda: self.total("one") > before + 3)
        self.assertEqual({name: self.total(name) for name in names}, told)
        self.finish()

    def aggregates(self):
        done = subprocess.run([f"{BIN}/wakepath-store", "ls", self.path("store"), "r"], capture_output=True, text=True, check=True)
        return [line.split("/")[1] for line in done.stdout.splitlines() if "__" not in line]

    def test_command_lines_change(self):
        """What is executed after the reload is judged; the collector had not asked for command lines before."""
        self.begin(aggregates=('aggregate = "needle=cmdline~needle"',))
        log = self.settle("collector", "overhead-limit = none", 'match-cmdline = "needle"')
        self.assertIn('key=match-cmdline value="needle"', log)
        self.run_named("wprone", "needle")
        self.run_named("wprtwo", "hay")
        self.until("time of it", lambda: self.total("needle") > 1)
        folded = subprocess.run([f"{BIN}/wakepath-reporter", "--store", self.path("store"), "--release", "r", "--aggregate", "needle",
                                 "--format", "folded"], capture_output=True, text=True, check=True).stdout
        judged = {re.match(r"\[[^\]]*\]", line).group() for line in folded.splitlines()}  # whom these waited for is no matter
        self.assertIn("[wprone]", judged)
        self.assertNotIn("[wprtwo]", judged)
        self.finish()

    def test_one_mistake_and_nothing_is_taken(self):
        self.run_named("wprone")
        self.begin("overhead-limit = none", aggregates=('aggregate = "one=comm=wprone"', 'log-level = info'))
        for name, good, bad, why in (
                ("aggregator", 'aggregate = "two=comm=wprtwo"', 'aggregate += "three=color=red"', "'color=red' is not a selector term"),
                ("aggregator", "log-level = debug", "epoch = soon", "--epoch takes a number from 10 to 60000, not 'soon'"),
                ("aggregator", "log-level = debug", "nonsense = 1", "no such option 'nonsense'"),
                ("collector", "overhead-limit = 50", "frequency = 1x", "--frequency takes a number from 0 to 50000, not '1x'"),
                ("collector", "log-level = debug", 'match-cmdline = "("', "'(' is not an extended regular expression"),
                ("collector", "log-level = debug", 'window = "often"', "--window: ")):
            line = len(self.lines[name]) + 2
            lines = (good, bad)
            log = self.settle(name, *lines)
            self.assertIn("cannot reload the configuration, the previous one stays in force", log)
            self.assertIn(f"{self.path(name)}.conf:{line}: ", log)
            self.assertIn(why, log)
            self.assertNotIn("has changed", log)
        self.assertNotIn("the recording window has changed", self.log("collector"))  # nor at the start
        # What makes no sense together is a mistake, too.
        self.lines["collector"].append('spool = none')
        log = self.settle("collector", 'server-key = {"a", "b"}')
        self.assertIn("2 of --server-key for 1 of --connect", log)
        before = self.total("one")
        self.until("all went on", lambda: self.total("one") > before + 1)
        # A sound file is taken after all of that, and what cannot change is named.
        log = self.settle("collector", "overhead-limit = 50", "frequency = 7")
        self.assertIn('key=overhead-limit value="50"', log)
        self.assertIn("a setting takes effect only at the next start key=frequency", log)
        self.finish()

    def test_the_manual_names_what_changes(self):
        with open(os.path.join(SOURCE, "docs/operators-guide.md"), encoding="utf-8") as file:
            told = dict(re.findall(r"^\| (collector|aggregator) \| (`[^|]*`) \|", file.read(), re.M))
        for name in ("collector", "aggregator"):
            done = subprocess.run([f"{BIN}/wakepath-{name}", "--no-config", "--print-config", *(
                ("--output", "x") if name == "collector" else ("--bind", "ipc:///x", "--store", "x"))],
                capture_output=True, text=True, check=True)
            live = re.findall(r"^(?:# )?([a-z-]+)[: ].*; a reload changes it$", done.stdout, re.M)
            self.assertEqual(sorted(re.findall("`([a-z-]+)`", told[name])), sorted(live))
            with open(os.path.join(SOURCE, f"docs/man/wakepath-{name}.8.scd"), encoding="utf-8") as file:
                hangup = re.search(r"^\*SIGHUP\*\n(.*?)\n\n", file.read(), re.M | re.S).group(1)
            for key in live:
                self.assertIn(f"*{key}*", hangup)


if __name__ == "__main__":
    unittest.main(verbosity=2)
