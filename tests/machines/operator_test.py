#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A new operator with docs/first-fleet.md in hand, on two hosts with nothing on them: operator_test.py BUILD SOURCE. Blocks marked
`sh run-on HOST...` are executed there, in the page's order; what must have come of them is looked at between."""
import os, re, shutil, subprocess, sys, time, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from machines import Machines

BUILD, SOURCE = sys.argv[1:3]
PAGE = os.path.join(SOURCE, "docs/first-fleet.md")
LIMIT_S = 180


def steps():
    """(heading, host, text) of each block in its order."""
    heading = ""
    with open(PAGE, encoding="utf-8") as file:
        for found in re.finditer(r"^## ([^\n]*)$|^```sh run-on ([a-z ]+)\n(.*?)^```$", file.read(), re.M | re.S):
            heading = found[1] or heading
            for host in (found[2] or "").split():
                yield heading, host, found[3]


class OperatorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machines = Machines("aggr", "web")
        cls.addClassCleanup(cls.machines.close)
        for machine in cls.machines.all:
            machine.trust()
            for made, there in (("this", "packages"), ("next", "packages-new")):
                shutil.copytree(f"{BUILD}/test-packages/{made}", f"{machine.root}/root/{there}")

    def run_block(self, host, text):
        machine, began = self.machines[host], time.monotonic()
        machine.write("root/block", text)
        done = subprocess.run(["ip", "netns", "exec", self.machines.space, "ssh", "-F", self.machines.ssh_config(), host,
                               "timeout %d sh -eux /root/block" % LIMIT_S], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              check=False)
        if done.returncode:
            logs = "".join(one.ssh("journalctl --no-pager -n 40 -u 'wakepath-*'") for one in self.machines.all)
            self.fail("%s:\n%s\nends with %d\n%s%s\n%s" % (host, text, done.returncode, done.stdout, done.stderr, logs))
        print("%6.1f s %s: %s" % (time.monotonic() - began, host, text.splitlines()[0]), flush=True)
        return done.stdout + done.stderr

    def installed(self, host):
        """Name and version of each package of ours; dpkg-query lists those, too, that others only recommend."""
        return dict(re.findall(r"(?m)^installed (\S+) (\S+)$", self.machines[host].ssh(
            r"dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' 'wakepath-*' 2>/dev/null", check=False) or ""))

    def test_the_page(self):
        said, before, after = {}, {}, {}
        for heading, host, text in steps():
            if heading.startswith("9") and not before:
                before = {name: set(self.installed(name)) for name in ("aggr", "web")}
            if heading.startswith("10") and not after:
                after = {name: self.installed(name) for name in ("aggr", "web")}
            said[heading] = said.get(heading, "") + self.run_block(host, text)
            if heading.startswith("6") and "compare.html" in text:
                self.pages()
                if os.environ.get("WAKEPATH_SITE_COPY"):
                    subprocess.run(["cp", "-r", self.machines["aggr"].root + "/var/lib/wakepath/site", os.environ["WAKEPATH_SITE_COPY"]],
                                   check=True)
        self.assertEqual([name.split(".")[0] for name in said], [str(n) for n in range(1, 11)])
        self.assertRegex(said["4. Start"], r"(?m)^    web +[\d,]+ ")
        self.assertIn("deliberate_sleep", said["6. Pages"])
        self.assertRegex(said["7. Compare"], "shop")
        self.assertRegex(said["9. Upgrade"], r"(?m)^v1 ")
        self.assertEqual(before["web"], {"wakepath-collector", "wakepath-cli"})
        self.assertEqual({name: set(after[name]) for name in after}, before, "an upgrade installs nothing that was not there")
        self.assertEqual({version for one in after.values() for version in one.values()}, {"99.1"})
        self.assertRegex(said["10. Remove"], r"(?m)^v1$")
        for name in ("aggr", "web"):
            self.assertIsNone(self.machines[name].ssh("ls /usr/bin/wakepath-collector", check=False))

    def pages(self):
        """What the pages say is what the service did: the client waited for the shop, which slept. The hosts share a kernel, so that each
        collector has seen both of them."""
        folded = self.machines["aggr"].ssh(
            "for release in v1 v2 unversioned; do wakepath-reporter --store /var/lib/wakepath/store --release $release"
            " --aggregate clients --format folded || true; done")
        lines = [line for line in folded.splitlines() if re.search(r"^\[curl\].*\[shop\].*sleep:clock_nanosleep", line)]
        slept, named = (sum(int(line.rsplit(" ", 1)[1]) for line in lines if part in line) for part in ("", ";do_nanosleep;"))
        self.assertGreater(slept, 1_000_000_000, folded[:4000])
        self.assertGreater(named, slept / 2, "the service has no names of kernel functions\n" + folded[:4000])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
