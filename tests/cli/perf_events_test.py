#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `wakepath perf-events` prints for kernels that have more or less: perf_events_test.py BIN. The kernel is a folder of files."""
import os, re, subprocess, sys, tempfile, unittest

WAKEPATH = sys.argv[1] + "/wakepath"
BASE = ["sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup", "sched/sched_process_fork", "sched/sched_process_exec",
        "block/block_rq_issue", "block/block_rq_complete"]
NET = ["sock/inet_sock_set_state", "tcp/tcp_probe", "tcp/tcp_rcv_space_adjust"]
LENGTHS = ["sock/sock_send_length", "sock/sock_recv_length"]


class PerfEvents(unittest.TestCase):
    def kernel(self, events, kprobes=False, readme="", functions=""):
        folder = tempfile.TemporaryDirectory(prefix="wakepath-tracefs-")
        self.addCleanup(folder.cleanup)
        for event in events:
            os.makedirs(folder.name + "/events/" + event)
        for name, text in (("README", readme), ("available_filter_functions", functions)) + ((("kprobe_events", ""),) if kprobes else ()):
            with open(folder.name + "/" + name, "w", encoding="ascii") as file:
                file.write(text)
        return folder.name

    def said(self, kernel, *words):
        done = subprocess.run([WAKEPATH, "perf-events", "--tracefs", kernel, *words], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        subprocess.run(["sh", "-n"], input=done.stdout, text=True, check=True)
        self.assertIn("#   wakepath view recorded.capture\n", done.stdout)
        self.assertNotIn("\nwakepath view", done.stdout)  # which serves until it is ended: a script must end
        return done.stdout

    def events(self, script):
        return re.search(r"^perf record -a -g -k CLOCK_MONOTONIC -o perf\.data -e (\S+) -- ", script, re.M)[1].split(",")

    def test_tracepoints(self):
        script = self.said(self.kernel(BASE + NET + LENGTHS))
        self.assertEqual(self.events(script), ["sched:sched_switch", "sched:sched_waking", "sched:sched_process_fork",
                                               "sched:sched_process_exec", "block:block_rq_issue", "block:block_rq_complete",
                                               "sock:inet_sock_set_state", "tcp:tcp_probe", "tcp:tcp_rcv_space_adjust",
                                               "sock:sock_send_length", "sock:sock_recv_length", "cpu-clock/freq=99/"])
        self.assertIn("# 1. Probes: none, this kernel has no kprobes.", script)
        self.assertIn(" -- sleep 10\n", script)
        self.assertIn("wakepath collector --source perf-script:recorded.txt --output recorded.capture", script)
        self.assertNotIn("Not on this machine", script)

    def test_an_old_kernel(self):
        events = [event for event in BASE if "waking" not in event and "issue" not in event]
        script = self.said(self.kernel(events, True, "no such arguments"), "--frequency", "0")
        self.assertEqual(self.events(script)[:2], ["sched:sched_switch", "sched:sched_wakeup"])
        self.assertNotIn("cpu-clock", script)
        self.assertIn("perf probe --add 'tcp_sendmsg sk size'", script)
        self.assertIn("#   block:block_rq_issue: not known: waits for disks\n", script)
        self.assertIn("#   tcp:tcp_probe: ", script)

    def test_probes(self):
        kernel = self.kernel(BASE + NET + LENGTHS, True, "\t$arg<N>, ", "tcp_sendmsg_locked\ntcp_sendmsg [x]\nudp_sendmsg\nudpv6_sendmsg_not\n")
        script = self.said(kernel)
        self.assertEqual(re.findall(r"^p:probe/(\S+) (\S+) sk=\$arg1:x64 ", script, re.M), [("tcp_sendmsg",) * 2, ("udp_sendmsg",) * 2])
        self.assertEqual(self.events(script)[-3:], ["probe:tcp_sendmsg", "probe:udp_sendmsg", "cpu-clock/freq=99/"])
        self.assertIn("cat >> %s/kprobe_events <<'END'\n" % kernel, script)
        without = self.said(kernel, "--no-probes")
        self.assertNotIn("probe:tcp_sendmsg", without)
        self.assertIn("sock:sock_send_length", self.events(without))

    def test_none_of_the_functions(self):
        script = self.said(self.kernel(BASE + NET + LENGTHS, True, "\t$arg<N>, "))
        self.assertIn("# 1. Probes: none, available_filter_functions has none of their functions.\n", script)
        self.assertNotIn("kprobe_events", script)
        self.assertIn("sock:sock_send_length", self.events(script))

    def test_the_folder_is_quoted(self):
        kernel = self.kernel(BASE, True, "\t$arg<N>, ", "tcp_sendmsg\n")
        odd = kernel + "/a b;'c"
        os.symlink(kernel, odd)
        self.assertIn("cat >> '%s/a b;'\\''c/kprobe_events' <<'END'\n" % kernel, self.said(odd))

    def test_what_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([WAKEPATH, "perf-events", "--tracefs", self.kernel(BASE)], stdout=full, stderr=subprocess.PIPE, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write the script", done.stderr)

    def test_a_command_is_quoted(self):
        script = self.said(self.kernel(BASE), "sh", "-c", "echo 'a  b' $x", "")
        self.assertIn(" -- sh -c 'echo '\\''a  b'\\'' $x' ''\n", script)

    def test_refusals(self):
        for words, code, text in ((["--tracefs", "/nonexistent"], 1, "is not a tracefs that can be read"),
                                  (["--frequency", "1x"], 64, "--frequency takes a number up to 100000, not '1x'")):
            done = subprocess.run([WAKEPATH, "perf-events", *words], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (code, ""))
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
