#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The collector with little power: live_sandbox_test.py BIN_DIR FIXTURE."""
import os, re, shutil, subprocess, sys, tempfile, unittest

BIN, FIXTURE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ATTACH = "+bpf,+perfmon,+sys_ptrace,+dac_read_search"
FOR_NAMES = 1 << 2 | 1 << 19 | 1 << 40  # DAC_READ_SEARCH, SYS_PTRACE, CHECKPOINT_RESTORE
OVERRIDE = 1 << 1


def status_of(pid):
    """Of each thread: the lines of its status by name."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as file:
            found.append(dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line))
    return found


class Sandbox(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.theirs = os.path.join(self.folder, "theirs")
        os.mkdir(self.theirs)
        shutil.chown(self.theirs, "nobody", "nogroup")

    def record(self, output, prefix=(), *options):
        """Runs the fixture under a collector; what the collector's threads were meanwhile. On a busy machine it would leave out stacks
        to hold its limit, and know the fixture's rows when that has ended: neither is what these tests are about."""
        ready, word = os.pipe()
        collector = subprocess.Popen([*prefix, f"{BIN}/wakepath-collector", "--output", output, "--ready-fd", str(word), "--overhead-limit",
                                      "none", "--learn", FIXTURE, *options],
                                     pass_fds=[word], stderr=subprocess.PIPE, text=True)
        os.close(word)
        with os.fdopen(ready) as pipe:
            said = pipe.readline()
        if said != "ready\n":
            self.fail(collector.communicate()[1])
        states = status_of(collector.pid)
        subprocess.run([FIXTURE, "paths", "800"], check=True)
        collector.terminate()
        said = collector.communicate()[1]
        self.assertEqual(collector.returncode, 0, said)
        return states

    def folded(self, capture):
        store, endpoint = f"{self.folder}/store", f"ipc://{self.folder}/events"
        aggregator = subprocess.Popen([f"{BIN}/wakepath-aggregator", "--bind", endpoint, "--store", store, "--release", "r",
                                       "--aggregate", "main=comm=stacks_fixture", "--exit-after-sessions", "1"],
                                      stderr=subprocess.DEVNULL)
        subprocess.run([f"{BIN}/wakepath-collector", "--source", f"capture:{capture}", "--connect", endpoint], check=True,
                       stderr=subprocess.DEVNULL)
        self.assertEqual(aggregator.wait(), 0)
        text = subprocess.run([f"{BIN}/wakepath-reporter", "--store", store, "--release", "r", "--aggregate", "main", "--format",
                               "folded"], check=True, capture_output=True, text=True).stdout
        rows = [line.rpartition(" ") for line in text.splitlines()]
        return [(stack, int(ns)) for stack, _, ns in rows if stack.endswith("sleep:clock_nanosleep")]

    def assert_named(self, capture):
        rows = self.folded(capture)
        named = sum(ns for stack, ns in rows if re.search(r";main;(left|right);middle;inner;.*nanosleep", stack))
        self.assertGreater(named, 0.5 * sum(ns for _, ns in rows), rows[:5])

    def assert_dropped(self, states, allowed=FOR_NAMES, filters="2"):
        self.assertGreaterEqual(len(states), 3, "the unwinder and the naming thread too")
        for state in states:
            for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                self.assertEqual(int(state[name], 16) & ~allowed, 0, (name, state[name]))
            self.assertEqual((state["NoNewPrivs"], state["Seccomp"]), ("1", filters), state)

    @unittest.skipUnless(shutil.which("setpriv"), "no setpriv")
    def test_a_user_with_four_capabilities(self):
        capture = f"{self.theirs}/capture"
        states = self.record(capture, ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", f"--inh-caps=-all,{ATTACH}",
                                       f"--ambient-caps=-all,{ATTACH}"])
        self.assertEqual({state["Uid"].split()[0] for state in states}, {"65534"})
        self.assert_dropped(states, 1 << 2 | 1 << 19)
        self.assert_named(capture)

    def test_root_keeps_no_more(self):
        capture = f"{self.folder}/capture"
        states = self.record(capture)
        self.assert_dropped(states)
        self.assertEqual({int(state["CapBnd"], 16) for state in states}, {0})
        self.assert_named(capture)

    def test_root_writes_where_it_must(self):
        os.chmod(self.theirs, 0o755)
        states = self.record(f"{self.theirs}/capture")
        self.assert_dropped(states, FOR_NAMES | OVERRIDE)
        self.assertTrue(os.path.exists(f"{self.theirs}/capture"))

    def test_without_the_filter(self):
        self.assert_dropped(self.record(f"{self.folder}/capture", [], "--no-seccomp"), FOR_NAMES, "0")

    def test_another_monotonic_clock(self):
        """In a time namespace it would file everything so much too early or too late; it says so and does not begin."""
        if not os.path.exists("/proc/self/timens_offsets"):
            self.skipTest("this kernel has no time namespaces")
        words = [BIN + "/wakepath-collector", "--no-config", "-F", "0", "-d", "1", "-o", self.folder + "/capture"]
        far = subprocess.run(["unshare", "-T", "--monotonic", "1000", *words], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(far.returncode, 1, far.stderr)
        self.assertIn("time namespace", far.stderr)
        near = subprocess.run(["unshare", "-T", *words], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(near.returncode, 0, near.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
