#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the collector says of a kernel: probe_test.py COLLECTOR FOLDER-OF-PROGRAMS."""
import glob, json, os, re, subprocess, sys, unittest

COLLECTOR, PROGRAMS = sys.argv[1], sys.argv[2]


def probe(*words):
    return json.loads(subprocess.run([COLLECTOR, "--probe=json", *words], capture_output=True, text=True, check=True).stdout)


class Probe(unittest.TestCase):
    def test_every_program_is_in_the_table(self):
        sections = set()
        for path in glob.glob(PROGRAMS + "/*.h"):
            with open(path) as file:
                sections |= set(re.findall(r'^SEC\("((?!\.maps|license)[^"]+)"\)', file.read(), re.M))
        table = {p for fact in probe()["facts"] for choice in fact["choices"] for p in choice["programs"].split()}
        self.assertGreater(len(sections), 30)
        self.assertEqual(sections, {p for p in table if not p.startswith(("helper/", "kfunc/", "unwind/", "variable/", "offset/"))})

    def test_the_best_that_is_there_is_used(self):
        for fact in probe()["facts"]:
            states = [choice["state"] for choice in fact["choices"]]
            self.assertRegex(" ".join(states), r"^(no )*(used( spare| no)*)?$|^(no ?)+$", fact)
            for choice in fact["choices"]:
                self.assertEqual("why" in choice, choice["state"] == "no", fact)
            self.assertEqual("without" in fact, "used" not in states)

    def test_a_second_choice_is_taken(self):
        fact, = [f for f in probe()["facts"] if f["what"] == "block requests"]
        self.assertEqual([c["state"] for c in fact["choices"]], ["used", "spare"])
        left = probe("--test-left-out", "tp_btf/block_rq_insert")
        fact, = [f for f in left["facts"] if f["what"] == "block requests"]
        self.assertEqual([c["state"] for c in fact["choices"]], ["no", "used"])

    @unittest.skipIf(os.uname().machine != "x86_64", "the count is a variable of each processor on x86-64")
    def test_soft_interrupts_and_packets_are_told_by_counts(self):
        """Where the kernel does not say the address of its count of contexts that is found from the run queue."""
        count = "/proc/sys/net/netfilter/nf_conntrack_count" # of connections that the kernel follows: it may give datagrams other addresses
        is_translating = os.path.exists(count) and int(open(count, encoding="ascii").read()) > 0
        packets = "tp_btf/netif_receive_skb" if is_translating else "offset/softnet_data"
        for left_out, expected in (("variable/none", ("tp_btf/softirq_exit offset/kstat", packets)),
                                   ("offset/kstat variable/__preempt_count", ("raw_tp/softirq_entry offset/__preempt_count", packets)),
                                   ("offset/kstat variable/__preempt_count offset/__preempt_count",
                                    ("raw_tp/softirq_entry tp_btf/softirq_exit", "tp_btf/netif_receive_skb"))):
            facts = {f["what"]: [c["programs"] for c in f["choices"] if c["state"] == "used"] for f in probe("--test-left-out", left_out)["facts"]}
            self.assertEqual((*facts["soft interrupts"], *facts["packets that come"]), expected)

    def test_what_cannot_be_done_without(self):
        done = subprocess.run([COLLECTOR, "--probe", "--test-left-out", "tp_btf/sched_switch"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot do without", done.stdout)
        self.assertRegex(done.stderr, "sched_switch.*--source perf-script:FILE")

    def test_text_has_every_fact(self):
        text = subprocess.run([COLLECTOR, "--probe"], capture_output=True, text=True, check=True).stdout
        for fact in probe()["facts"]:
            self.assertIn("\n%-27s " % fact["what"], text)

    def test_a_kernel_without_btf_is_refused(self):
        for words in ("--probe", "--output /dev/null"):
            done = subprocess.run(["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /sys/kernel/btf && exec \"$0\" " + words,
                                   COLLECTOR], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"^wakepath-collector: error: .*no BTF.*CONFIG_DEBUG_INFO_BTF.*--source perf-script:FILE\n$")
            self.assertEqual(done.stdout, "")

    def test_wrong_use(self):
        done = subprocess.run([COLLECTOR, "--probe=xml"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 64)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("needs root")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
