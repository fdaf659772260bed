#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One recording in today's text of perf script and in the form of 2015, through the same engine; and one with lines about sockets:
forms_test.py BIN RECORDED.txt NETWORK.txt.

The older form has no process ids, sched_wakeup in place of sched_waking, switches in short, other names of interrupts and of
cycles, and no soft interrupts, exits and renames: what wakes is known by its stack only."""
import json, os, re, subprocess, sys, tempfile, unittest

BIN, RECORDED, NETWORK = sys.argv[1:4]
HEAD = re.compile(r"^(?P<comm>\S.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?P<cpu>\[\d+\])\s+(?P<time>[\d.]+):\s+(?P<event>[\w:/=-]*[\w/]):(?:\s+(?P<rest>.*)|)$")
SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(-?\d+) prev_prio=(\d+) prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=(\d+)")
KNOWN = ("sched:sched_switch", "sched:sched_waking", "sched:sched_process_fork", "sched:sched_process_exec", "block:block_rq_insert",
         "block:block_rq_issue", "block:block_rq_complete", "irq:irq_handler_entry")
NAMES = {"asm_sysvec_apic_timer_interrupt": "apic_timer_interrupt", "asm_common_interrupt": "do_IRQ",
         "exit_to_user_mode_loop": "retint_careful", "entry_SYSCALL_64_after_hwframe": "system_call_fastpath"}


def event_of_2015(match):
    event, rest = match["event"], match["rest"] or ""
    if event.startswith("cpu-clock"):
        event, rest = "cycles", ""
    elif event not in KNOWN:
        return None
    if event == "sched:sched_waking":
        event, rest = "sched:sched_wakeup", rest.replace(" target_cpu=", " success=1 target_cpu=")
    if event == "sched:sched_switch":
        switch = SWITCH.match(rest)
        rest = "{}:{} [{}] {} ==> {}:{} [{}]".format(*switch.groups())
    return f"{match['comm']} {match['tid']} {match['cpu']} {match['time']}: {event}: {rest}\n"


def form_of_2015(text):
    out, keeps = [], False
    for line in text.splitlines(keepends=True):
        match = HEAD.match(line)
        if match:
            made = event_of_2015(match)
            keeps = made is not None
            line = made or ""
        elif keeps:
            for new, old in NAMES.items():
                line = line.replace(new, old)
        if keeps or not match and not line.strip():
            out.append(line)
    return "".join(out)


class Reports(unittest.TestCase):
    def report(self, folder, name, text, form="json"):
        path, socket, store = (os.path.join(folder, name + end) for end in (".txt", ".socket", ".store"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        aggregator = subprocess.Popen([f"{BIN}/wakepath-aggregator", "--bind", f"ipc://{socket}", "--store", store, "--release", "r",
                                       "--aggregate", f"main={self.selector}", "--exit-after-sessions", "1", "--log-level", "error"])
        subprocess.run([f"{BIN}/wakepath-collector", "--source", f"perf-script:{path}", "--connect", f"ipc://{socket}", "--log-level",
                        "error"], check=True)
        self.assertEqual(aggregator.wait(60), 0)
        said = subprocess.run([f"{BIN}/wakepath-reporter", "--store", store, "--release", "r", "--aggregate", "main", "--format", form],
                              check=True, capture_output=True, text=True).stdout
        return json.loads(said) if form == "json" else said


class Forms(Reports):
    def hold(self, selector):
        self.selector = selector
        with open(RECORDED, encoding="utf-8") as file:
            today = file.read()
        old = form_of_2015(today)
        self.assertNotIn("sched_waking", old)
        self.assertNotRegex(old, r"\d+/\d+ +\[|prev_comm|softirq_entry")
        self.assertGreater(old.count("==>"), 50)
        with tempfile.TemporaryDirectory() as folder:
            new_report, old_report = self.report(folder, "new", today), self.report(folder, "old", old)
        total = new_report["total_ns"]
        self.assertGreater(total, 1e6)
        self.assertLess(abs(total - old_report["total_ns"]), 0.01 * total)
        for name, ns in new_report["categories"].items():
            self.assertLess(abs(ns - old_report["categories"][name]), 0.01 * total, name)
        ranks = [[row["comm"] for row in sorted(report["processes"], key=lambda row: -row["total_ns"])][:3]
                 for report in (new_report, old_report)]
        self.assertEqual(*ranks)

    def test_a_shell(self):
        self.hold("comm=sh")

    def test_disk(self):
        self.hold("comm=dd")

    def test_busy(self):
        self.hold("comm=busy")


class Network(Reports):
    """A client that asks one server on another machine and one beside it, three times each, by TCP and then by UDP."""
    selector = "comm=client"

    def sums(self, text):
        """Milliseconds of stacks that hold these frames."""
        with tempfile.TemporaryDirectory() as folder:
            lines = [line.rsplit(" ", 1) for line in self.report(folder, "network", text, "folded").splitlines()]
        return lambda frames: sum(int(ns) for stack, ns in lines if re.search(frames, stack)) / 1e6

    def test_operations(self):
        with open(NETWORK, encoding="utf-8") as file:
            sums = self.sums(file.read())
        self.assertAlmostEqual(sums(r"tcp:10\.78\.0\.254:7000 \(not traced\)"), 96.6, delta=1)
        self.assertAlmostEqual(sums(r"tcp:127\.0\.0\.1:7100;\[web\];.*sleep:clock_nanosleep"), 79.6, delta=1)
        self.assertAlmostEqual(sums(r"udp:.*\(not traced\)"), 49.3, delta=1)
        self.assertAlmostEqual(sums(r"udp:[^;]*;\[names\];.*sleep:clock_nanosleep"), 35.3, delta=1)

    def test_without_lines_about_sockets(self):
        """What comes from elsewhere is an interrupt, and what comes from here its sender's doing."""
        with open(NETWORK, encoding="utf-8") as file:
            text = "".join(line for line in file if not re.search(r"\d: +(tcp|sock|probe):", line))
        sums = self.sums(text)
        self.assertEqual(sums("tcp:|udp:"), 0)
        self.assertAlmostEqual(sums("softirq:net_rx"), 161.9, delta=1) # one datagram over loopback among it: the kernel's own thread brought it
        self.assertAlmostEqual(sums(r"\[web\];.*sleep:clock_nanosleep"), 79.6, delta=1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
