#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measures P1, P3, P4 and P5 against perf in the same run; prints one JSON object, asserts nothing.

P1  added time an operation of `perf bench sched pipe`, pinned, stacks at each switch: wakepath-collector, perf record -a -g
P3  bytes an event on the wire (the collector's frames), stacks and dictionaries included; perf.data for comparison
P4  the collector's processor time at about 100 000 events a second
P5  events a second from a capture to committed reports; `perf script` of the same workload for comparison

Several folders of programs are paired: in each run all of them by turns, and of the second and later ones how many times the
first one's figure theirs is, run by run. P5 is then of three captures that the first one makes: switches only, generated
requests (host_hour.py), and the live kernel with connections, forks and blocks written (churn).
"""
import argparse
import ctypes
import importlib
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PERF_EVENTS = ("sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new,sched:sched_process_fork,"
               "sched:sched_process_exec,sched:sched_process_exit")


def log(text):
    print("bench:", text, file=sys.stderr, flush=True)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def first_line(*command):
    try:
        return (run(*command).splitlines() or ["?"])[0]
    except (OSError, subprocess.CalledProcessError):
        return "?"


def spread(values):
    """Median, least and most: a shared machine is judged by all three."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "runs": len(values)}


def die_with_parent():
    """A collector that outlives a bench that failed would be in all that is measured after it."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Bench:
    """The programs of one or more builds; `bin` is the one that is at work."""
    def __init__(self, bin_dir, folder, runs, operations, capture=None, others=()):
        self.bin, self.folder, self.runs, self.operations, self.capture = bin_dir, folder, runs, operations, capture
        self.bins, self.replays = [bin_dir, *others], 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name):
        return os.path.join(self.bin, name)

    def by_turns(self, number, measure):
        """What `measure` returns of each build, in their order; every other run begins with the last one."""
        found = {}
        for build in self.bins if number % 2 == 0 else self.bins[::-1]:
            self.bin = build
            found[build] = measure()
        self.bin = self.bins[0]
        return [found[build] for build in self.bins]

    def of_builds(self, rows):
        """Spreads of what by_turns() gave run by run, and of each run's ratio to the first build."""
        if len(self.bins) == 1:
            return spread([row[0] for row in rows])
        return [{"bin": build, **spread([row[i] for row in rows]),
                 "of_first": spread([row[i] / row[0] if row[0] else 0 for row in rows])} for i, build in enumerate(self.bins)]

    # --- what runs beside the workload ---
    def start_collector(self, *flags):
        """A collector that is attached; its standard output is the statistics."""
        ready, word = os.pipe()
        process = subprocess.Popen([self.program("wakepath-collector"), "--stats", "--log-level", "error", "--overhead-limit", "none",
                                    "--ready-fd", str(word), *flags], stdout=subprocess.PIPE, text=True,
                                   pass_fds=[word], preexec_fn=die_with_parent)
        os.close(word)
        if not os.read(ready, 16):
            raise RuntimeError("the collector did not start")
        os.close(ready)
        return process

    def end_collector(self, process):
        """Its statistics, with the processor time that the kernel saw in user space."""
        process.send_signal(signal.SIGTERM)
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"the collector ended with {process.returncode}")
        stats = json.loads(text.strip().splitlines()[-1])
        stats["user_s"], stats["system_s"] = usage.ru_utime, usage.ru_stime
        return stats

    def start_perf(self, out):
        process = subprocess.Popen(["perf", "record", "-a", "-g", "-q", "-m", "4096", "-o", out, "-e", PERF_EVENTS],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1.5)  # perf says nowhere that it has begun
        return process

    def end_perf(self, process):
        process.send_signal(signal.SIGINT)
        process.wait()

    # --- the workloads ---
    def pipe_us(self):
        """Microseconds an operation."""
        text = run("taskset", "-c", "1", "perf", "bench", "sched", "pipe", "-l", str(self.operations))
        return float(re.search(r"([0-9.]+) usecs/op", text).group(1))

    def pace(self, seconds, trips):
        return int(run(self.program("bench_pace"), str(seconds), str(trips)))

    # --- the measures ---
    def traced_pipe(self):
        collector = self.start_collector("--frequency", "0", "--output", self.path("p1.capture"))
        us = self.pipe_us()
        self.end_collector(collector)
        return us

    def p1(self):
        plain, ours, perf = [], [], []
        for i in range(self.runs):
            log(f"P1 run {i + 1} of {self.runs}")
            plain.append(self.pipe_us())
            ours.append(self.by_turns(i, self.traced_pipe))
            process = self.start_perf(self.path("p1.data"))
            perf.append(self.pipe_us())
            self.end_perf(process)
        base, perf_added = statistics.median(plain), statistics.median(perf) - statistics.median(plain)
        added = [statistics.median(row[i] for row in ours) - base for i in range(len(self.bins))]
        ratio = [one / perf_added if perf_added else None for one in added]
        is_one = len(self.bins) == 1
        return {"unit": "us/op", "operations": self.operations, "untraced": spread(plain), "wakepath": self.of_builds(ours),
                "perf_record": spread(perf), "wakepath_added": added[0] if is_one else added, "perf_added": perf_added,
                "added_ratio": ratio[0] if is_one else ratio}

    def bytes_an_event(self):
        collector = self.start_collector("--output", self.path("p3.capture"))
        run(self.program("wakepath-demo"), self.folder)
        self.pace(2, 10)
        stats = self.end_collector(collector)
        return stats["bytes"] / max(stats["events"], 1)

    def p3(self):
        rows, perf_rows = [], []
        for i in range(self.runs):
            log(f"P3 run {i + 1} of {self.runs}")
            rows.append(self.by_turns(i, self.bytes_an_event))
        process = self.start_perf(self.path("p3.data"))
        run(self.program("wakepath-demo"), self.folder)
        self.pace(2, 10)
        self.end_perf(process)
        perf_rows.append(os.path.getsize(self.path("p3.data")) / max(self.perf_events("p3.data"), 1))
        return {"unit": "bytes/event", "workload": "demonstration, then 2 s of 10 round trips a ms",
                "wakepath": self.of_builds(rows), "perf_data": spread(perf_rows)}

    def user_share(self, pid, work):
        """Of the processor time that a process takes while `work` lasts, in percent: samples, as the kernel counts user time by ticks."""
        data = self.path("p4.data")
        with subprocess.Popen(["perf", "record", "-q", "-F", "999", "-e", "cpu-clock:u,cpu-clock:k", "-o", data, "-p", str(pid)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as perf:
            work()
            perf.send_signal(signal.SIGINT)
        events = run("perf", "script", "-i", data, "-F", "event").split()
        return 100 * sum(event.startswith("cpu-clock:u") for event in events) / max(len(events), 1)

    def steady(self):
        """One run of P4: what is read once for each object (names, unwind rows) is read before, in three seconds of the same. The time
        is taken while nobody samples, which adds a fifth to it, and user time's share of it behind that."""
        collector = self.start_collector("--netns", "/proc/self/ns/net", "--output", self.path("p4.capture"))
        self.pace(3, 32)
        start, before, main = time.monotonic(), process_ns(collector.pid), thread_ns(collector.pid, collector.pid)
        self.pace(10, 32)
        elapsed_ns, after = (time.monotonic() - start) * 1e9, process_ns(collector.pid)
        of_events = 100 * (thread_ns(collector.pid, collector.pid) - main) / elapsed_ns
        share = self.user_share(collector.pid, lambda: self.pace(10, 32))
        taken = 100 * (after - before) / elapsed_ns
        stats = self.end_collector(collector)
        return {"events_per_s": stats["events"] / 23, "user": taken * share / 100, "of_events": of_events, "user_and_system": taken,
                "cpu_s_before": before / 1e9, "dropped": stats["dropped"]}

    def p4(self):
        own_network()  # threads of others are not recorded
        runs = []
        for i in range(self.runs):
            log(f"P4 run {i + 1} of {self.runs}")
            runs.append(self.by_turns(i, self.steady))
        names = ("events_per_s", "user", "of_events", "user_and_system", "cpu_s_before")
        return {"unit": "percent of one core", **{name: self.of_builds([[row[name] for row in rows] for rows in runs]) for name in names},
                "dropped": sum(row["dropped"] for rows in runs for row in rows)}

    def perf_events(self, name):
        process = subprocess.Popen(["perf", "script", "-i", self.path(name), "-F", "event"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        count = sum(1 for line in process.stdout if line.strip())
        process.wait()
        return count

    def replay(self, capture, base):
        """One capture into a new store, `base` being of interest: (events, aggregator's CPU seconds, seconds to its end)."""
        self.replays += 1
        socket = f"ipc://{self.path('socket')}{self.replays}"
        ready, word = os.pipe()
        aggregator = subprocess.Popen([self.program("wakepath-aggregator"), "--bind", socket, "--store",
                                       self.path(f"store{self.replays}"), "--release", "bench", "--aggregate",
                                       f"main=comm={base}", "--exit-after-sessions", "1", "--log-level", "error",
                                       "--ready-fd", str(word)], pass_fds=[word])
        os.close(word)
        if not os.read(ready, 16):
            raise RuntimeError("the aggregator did not start")
        os.close(ready)
        start = time.monotonic()
        text = run(self.program("wakepath-collector"), "--source", f"capture:{capture}", "--replay-speed", "fast",
                   "--connect", socket, "--stats", "--log-level", "error")
        _, status, usage = os.wait4(aggregator.pid, 0)
        aggregator.returncode = os.waitstatus_to_exitcode(status)
        elapsed = time.monotonic() - start
        if status:
            raise RuntimeError(f"the aggregator ended with {aggregator.returncode}")
        return json.loads(text.strip().splitlines()[-1])["events"], usage.ru_utime + usage.ru_stime, elapsed

    def replays_of(self, capture, base, events=None):
        """P5 of that capture; `events`: of one whose collector does not count them again."""
        cores, walls = [], []
        for i in range(self.runs):
            log(f"P5 run {i + 1} of {self.runs}, {os.path.basename(capture)}")
            found = self.by_turns(i, lambda: self.replay(capture, base))
            events = found[0][0] or events
            cores.append([events / cpu_s for _, cpu_s, _ in found])
            walls.append([events / elapsed for _, _, elapsed in found])
        return {"unit": "events/s", "events": events, "wakepath_per_core": self.of_builds(cores), "wakepath_wall": self.of_builds(walls)}

    def record(self, capture, workload):
        collector = self.start_collector("--output", capture)
        workload()
        return self.end_collector(collector)["events"]

    def generated_capture(self):
        """What host_hour.py replays: a service of six threads that asks another one with a disk."""
        with open(self.path("plan"), "w", encoding="ascii") as file:
            file.write(importlib.import_module("host_hour").PLAN)
        run(self.program("fleetgen"), "--out", self.folder, "--plan", self.path("plan"), "--seconds", "30", "--seed", "1")
        os.rename(self.path("h1.capture"), self.path("generated"))
        return self.path("generated")

    def mixed_load(self):
        """20 s of switches, connections, forks, and blocks written past the cache."""
        with subprocess.Popen([os.path.join(self.bins[-1], "churn"), "1500", "150", "20"], stdout=subprocess.DEVNULL) as churn, \
                subprocess.Popen([self.program("bench_pace"), "20", "5"], stdout=subprocess.DEVNULL):
            while churn.poll() is None:
                subprocess.run(["dd", "if=/dev/zero", f"of={self.path('blocks')}", "bs=64k", "count=50", "oflag=direct"],
                               stderr=subprocess.DEVNULL, check=False)
                time.sleep(0.3)

    def p5(self):
        if self.capture:
            return self.replays_of(self.capture, "bench_pace")
        log("P5 capture")
        capture = self.path("switches")
        events = self.record(capture, lambda: self.pace(10, 25))
        result = self.replays_of(capture, "bench_pace", events)
        if len(self.bins) > 1:
            result["generated"] = self.replays_of(self.generated_capture(), "web")
            self.record(self.path("mixed"), self.mixed_load)
            result["mixed"] = self.replays_of(self.path("mixed"), "bench_pace")
        process = self.start_perf(self.path("p5.data"))
        self.pace(10, 25)
        self.end_perf(process)
        perf_events, perf = self.perf_events("p5.data"), []
        for _ in range(min(self.runs, 3)):
            start = time.monotonic()
            with open("/dev/null", "w", encoding="ascii") as null:
                subprocess.run(["perf", "script", "-i", self.path("p5.data")], stdout=null, stderr=null, check=True)
            perf.append(perf_events / (time.monotonic() - start))
        return {**result, "perf_script": spread(perf), "perf_script_events": perf_events}


def own_network():
    """This process and those it starts are in a network namespace of their own from now on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x40000000):  # CLONE_NEWNET
        raise OSError(ctypes.get_errno(), "cannot make a network namespace")
    run("ip", "link", "set", "lo", "up")  # what is measured next may need it


def process_ns(pid):
    """Processor time of a process, with its ended threads; not in ticks (man 3 clock_getcpuclockid)."""
    return time.clock_gettime_ns(~pid << 3 | 2)


def thread_ns(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def machine():
    model = "?"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cpu": model, "cpus": os.cpu_count(), "kernel": platform.release(),
            "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
            "load_before": os.getloadavg()[0]}


def main():
    parser = argparse.ArgumentParser(description="Measures Wakepath against perf; prints JSON.")
    parser.add_argument("bin", nargs="+", help="folder of the built programs; several are paired with the first")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--operations", type=int, default=200000, help="of perf bench sched pipe (P1)")
    parser.add_argument("--only", default="P1,P3,P4,P5")
    parser.add_argument("--capture", help="P5 of that capture, without perf: two builds are compared by the same one, in turns")
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="wakepath-bench-", dir="/var/tmp")
    try:
        bench = Bench(given.bin[0], folder, given.runs, given.operations, given.capture, given.bin[1:])
        versions = [first_line(os.path.join(build, "wakepath"), "--version") for build in given.bin]
        result = {"machine": machine(), "versions": {"wakepath": ", ".join(versions),
                                                    "perf": first_line("perf", "--version")}, "measures": {}}
        for name in given.only.split(","):
            result["measures"][name] = getattr(bench, name.lower())()
        print(json.dumps(result, indent=1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
