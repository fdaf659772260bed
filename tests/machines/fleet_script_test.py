#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/fleet on hosts with a systemd and an sshd each, an aggregator's and one that is traced, with WP_LONG (tests/more.sh long) two: fleet_script_test.py
BUILD SOURCE."""
import os, re, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from machines import Machines, wait_for

BUILD, SOURCE = sys.argv[1:3]
TRACED = ("web", "db") if os.environ.get("WP_LONG") else ("web",)


class FleetScriptTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machines = Machines("aggr", *TRACED)
        cls.addClassCleanup(cls.machines.close)
        cls.packages = BUILD + "/test-packages/this"
        cls.hosts, cls.settings = cls.machines.folder + "/hosts", cls.machines.folder + "/settings"
        os.mkdir(cls.settings)
        # Each collector sees the whole machine, with all tests that run: the aggregator need not explain twenty of its services.
        with open(cls.settings + "/aggregator.conf", "w", encoding="ascii") as file:
            file.write("auto-aggregates = 1\n")

    def fleet(self, lines, *flags):
        """Status and the changes that it tells, a set of (host, what)."""
        with open(self.hosts, "w", encoding="utf-8") as file:
            file.write("# a list\naggregator aggr tcp://aggr:7447\n" + "\n".join(lines) + "\n")
        done = subprocess.run(["ip", "netns", "exec", self.machines.space, SOURCE + "/deploy/fleet/fleet.sh", "--ssh", "-F", "--ssh",
                               self.machines.ssh_config(), "--packages", self.packages, "--settings", self.settings, *flags, self.hosts],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=400)
        self.said = done.stdout + done.stderr
        changes = re.findall(r"^(\S+): (?:would|changed:) (.*)$", done.stdout, re.M)
        self.assertEqual(len(changes), len(set(changes)), self.said)
        return done.returncode, set(changes)

    def collectors(self, *names):
        """They are all known to the aggregator."""
        def known():
            status = self.machines["aggr"].ssh("wakepath status", check=False) or ""
            return {line.split()[0] for line in status.splitlines() if line.startswith("    ")} >= {"host", *names}
        wait_for("sessions of " + " ".join(names), known, tell=lambda: self.machines["aggr"].ssh("journalctl --no-pager -n 50"))

    def test_fleet(self):
        all_lines = ["collector %s%s" % (name, " zone=a role=web" if name == "web" else "") for name in TRACED]
        last = TRACED[-1]
        status, would = self.fleet(all_lines, "--check")
        self.assertEqual(status, 2, self.said)
        self.assertIn(("web", "make the key /etc/wakepath/collector.key"), would)
        for name in ("aggr", *TRACED):
            self.assertIsNone(self.machines[name].ssh("ls /etc/wakepath", check=False), "a check has changed something")

        status, changes = self.fleet(all_lines)
        self.assertEqual(status, 0, self.said)
        self.assertGreaterEqual(changes, {(last, "start wakepath-collector"), *(("aggregator", "admit " + name) for name in TRACED)})
        self.collectors(*TRACED)
        self.assertIn("auto-aggregates = 1\n", self.machines["aggr"].ssh("cat /etc/wakepath/aggregator.conf"))
        self.assertIn("role=web", self.machines["web"].ssh("wakepath-collector --print-config"))
        secret = self.machines["web"].ssh("stat -c '%U:%G %a' /etc/wakepath/collector.key")
        self.assertEqual(secret, "root:wakepath-collector 640\n")
        self.machines["web"].ssh("wakepath doctor")
        self.assertEqual(self.fleet(all_lines), (0, set()), self.said)

        self.machines["web"].ssh("echo 'frequency = 7' >> /etc/wakepath/collector.conf")
        drift = {("web", "write /etc/wakepath/collector.conf"), ("web", "restart wakepath-collector")}
        if last != "web":
            self.machines[last].ssh("systemctl stop wakepath-collector")
            drift.add((last, "start wakepath-collector"))
        self.assertEqual(self.fleet(all_lines, "--check"), (2, drift), self.said)
        self.assertEqual(self.fleet(all_lines), (0, drift), self.said)
        self.assertNotIn("frequency = 7", self.machines["web"].ssh("cat /etc/wakepath/collector.conf"))
        self.collectors(*TRACED)

        status, changes = self.fleet(all_lines[:-1] + ["collector gone.invalid"])
        self.assertEqual((status, changes), (1, {("aggregator", "admit %s no more" % last)}), self.said)
        self.assertIn("gone.invalid: failed: ", self.said)
        if last != "web":
            self.machines["web"].ssh("systemctl stop wakepath-test-ssh", check=False)  # it does not answer: its key stays
            status, changes = self.fleet(all_lines)
            self.assertEqual((status, changes), (1, {("aggregator", "admit " + last)}), self.said)
            self.assertIn("web: failed: ", self.said)

    def test_a_wrong_list_is_refused(self):
        for lines in (["aggregator other tcp://x:1"], ["collector web", "collector web"], ["watcher web"]):
            self.assertEqual(self.fleet(lines)[0], 64, lines)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
