#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One recording in today's text of perf script and in the form of 2015, through the same engine: forms_test.py BIN RECORDED.txt.

The older form has no process ids, sched_wakeup in place of sched_waking, switches in short, other names of interrupts and of
cycles, and no soft interrupts, exits and renames: what wakes is known by its stack only."""
import json, os, re, subprocess, sys, tempfile, unittest

BIN, RECORDED = sys.argv[1], sys.argv[2]
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


class Forms(unittest.TestCase):
    def report(self, folder, name, text):
        path, socket, store = (os.path.join(folder, name + end) for end in (".txt", ".socket", ".store"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        aggregator = subprocess.Popen([f"{BIN}/wakepath-aggregator", "--bind", f"ipc://{socket}", "--store", store, "--release", "r",
                                       "--aggregate", f"main={self.selector}", "--exit-after-sessions", "1", "--log-level", "error"])
        subprocess.run([f"{BIN}/wakepath-collector", "--source", f"perf-script:{path}", "--connect", f"ipc://{socket}", "--log-level",
                        "error"], check=True)
        self.assertEqual(aggregator.wait(60), 0)
        said = subprocess.run([f"{BIN}/wakepath-reporter", "--store", store, "--release", "r", "--aggregate", "main", "--format", "json"],
                              check=True, capture_output=True, text=True).stdout
        return json.loads(said)

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
