#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One workload recorded at once by the live source and by perf(1), whose text goes through the same engine: both reports must
tell the same. Tolerances: wall and total 10 % apart, each category and each of the five largest explanations (who waited for whom,
and for what) 5 % of the total and what perf lost, the same four processes in front. Running time is one category here: which of it a
sample names differs, as perf loses samples where the other's timer fires as well. What the text of perf does not say (which connection,
which datagram, a pipe or a file) may make a path shorter; the workload is pipes, sleeps, forks and disk."""
import json, os, re, subprocess, sys, tempfile, time, unittest

BIN = os.environ["WAKEPATH_BIN"]
EVENTS = ("sched:sched_switch,sched:sched_waking,sched:sched_process_fork,sched:sched_process_exec,sched:sched_process_exit,"
          "block:block_rq_insert,block:block_rq_issue,block:block_rq_complete,irq:irq_handler_entry,irq:irq_handler_exit,"
          "irq:softirq_entry,irq:softirq_exit,task:task_rename,cpu-clock/freq=997/")
WORK = """
import os, subprocess, time
open("/proc/self/comm", "w").write("bothways")
for i in range(6):
    subprocess.run("head -c 1500000 /dev/urandom | gzip -c | md5sum >/dev/null", shell=True, check=True)
    time.sleep(0.05)
    with open("both.bin", "wb") as file:
        file.write(os.urandom(200000))
        file.flush()
        os.fsync(file.fileno())
"""


def program(name):
    return os.path.join(BIN, name)


class BothWays(unittest.TestCase):
    def report(self, folder, name, *source):
        """The JSON report of what a collector's source tells."""
        socket, store = f"ipc://{folder}/{name}.socket", f"{folder}/{name}.store"
        aggregator = subprocess.Popen([program("wakepath-aggregator"), "--bind", socket, "--store", store, "--release", "r",
                                       "--aggregate", "main=comm=bothways", "--exit-after-sessions", "1", "--log-level", "error"])
        subprocess.run([program("wakepath-collector"), *source, "--connect", socket, "--log-level", "error"], check=True)
        self.assertEqual(aggregator.wait(120), 0)
        said = {form: subprocess.run([program("wakepath-reporter"), "--store", store, "--release", "r", "--aggregate", "main", "--format",
                                      form], check=True, capture_output=True, text=True).stdout for form in ("json", "folded")}
        summary = json.loads(said["json"])
        return summary, self.explanations(said["folded"], {f"[{row['comm']}]" for row in summary["processes"]})

    @staticmethod
    def explanations(folded, processes):
        """{processes and what they wait for, without the functions: ns}; a function that has no name is called like its file. The text
        of perf knows no descriptors: "sleep:write pipe" counts as "sleep:write"."""
        sums = {}
        for line in folded.splitlines():
            stack, _, ns = line.rpartition(" ")
            frames = [re.sub(r"^(sleep:[^ ]+) .*", r"\1", frame) for frame in stack.split(";")
                      if frame in processes or re.match(r"path:|sleep:|sched:(preempted|runnable)$", frame)]
            frames = [frame for i, frame in enumerate(frames) if not i or frames[i - 1] != frame]
            sums[";".join(frames)] = sums.get(";".join(frames), 0) + int(ns)
        return sums

    @staticmethod
    def comparable(categories):
        """The categories but for what is lost, and with the two of running time as one."""
        running = ("understood_functions", "running_not_sampled")
        return {"running": sum(categories[name] for name in running),
                **{name: ns for name, ns in categories.items() if name not in (*running, "unaccounted")}}

    def record(self, folder):
        """The workload under both at once: a capture, and the text of perf script."""
        ready, word = os.pipe()
        collector = subprocess.Popen([program("wakepath-collector"), "--output", f"{folder}/live.capture", "--frequency", "997",
                                      "--ready-fd", str(word), "--log-level", "error"], pass_fds=[word])
        os.close(word)
        self.assertEqual(os.read(ready, 16), b"ready\n")
        os.close(ready)
        subprocess.run(["perf", "record", "-q", "-a", "-g", "-m", "8192", "-k", "CLOCK_MONOTONIC", "-e", EVENTS, "-o", f"{folder}/perf.data", "--",
                        sys.executable, "-c", WORK], cwd=folder, check=True, stderr=subprocess.DEVNULL)
        time.sleep(0.2)
        collector.terminate()
        self.assertEqual(collector.wait(60), 0)
        with open(f"{folder}/perf.txt", "w", encoding="utf-8") as text:
            subprocess.run(["perf", "script", "--show-lost-events", "-i", f"{folder}/perf.data"], stdout=text, stderr=subprocess.DEVNULL, check=True)

    def test_both_tell_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            self.record(folder)
            live, live_whys = self.report(folder, "live", "--source", f"capture:{folder}/live.capture")
            text, text_whys = self.report(folder, "text", "--source", f"perf-script:{folder}/perf.txt")
        total = live["total_ns"]
        print(f"live: {total / 1e6:.1f} ms total, {live['accounted_percent']:.1f} % accounted; perf's text: "
              f"{text['total_ns'] / 1e6:.1f} ms, {text['accounted_percent']:.1f} %", file=sys.stderr)
        for name, ns in live["categories"].items():
            print(f"  {name:22} {ns / 1e6:9.1f} {text['categories'][name] / 1e6:9.1f}", file=sys.stderr)
        print("  unexplained:", text["unexplained"], file=sys.stderr)
        self.assertLess(abs(live["wall_ns"] - text["wall_ns"]), 0.10 * live["wall_ns"])
        self.assertLess(abs(total - text["total_ns"]), 0.10 * total)
        # perf loses wakings on this kind of machine, beside idle switches; what it lost it calls unaccounted, not something else.
        lost = text["categories"]["unaccounted"]
        self.assertLess(lost, 0.4 * total)
        self.assertLess(live["categories"]["unaccounted"], 0.05 * total)
        told, read = self.comparable(live["categories"]), self.comparable(text["categories"])
        for name, ns in told.items():
            self.assertLess(abs(ns - read[name]), 0.05 * total + lost, name)
        for why in sorted(live_whys, key=lambda why: -live_whys[why])[:5]:
            print(f"  {live_whys[why] / 1e6:9.1f} {text_whys.get(why, 0) / 1e6:9.1f}  {why}", file=sys.stderr)
            self.assertLess(abs(live_whys[why] - text_whys.get(why, 0)), 0.05 * total + lost, why)
        heads = [[process["comm"] for process in sorted(report["processes"], key=lambda row: -row["total_ns"])] for report in (live, text)]
        seen = [list(dict.fromkeys(head)) for head in heads]
        self.assertEqual(seen[0][0], seen[1][0])
        self.assertEqual(set(seen[0][:4]), set(seen[1][:4]), heads)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
