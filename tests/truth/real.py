#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs, recorded as a user does, held against their own clocks.

real.py [OPTION...] [CASE ...]        (WAKEPATH_BIN: the folder of the programs)

postgres  psql asks PostgreSQL over its unix socket to read a table from end to end. PostgreSQL's time is what EXPLAIN and its log say.
make      make -j2 of 16 files. The kernel's own times of births and exits say which child ended next, and what ran of it.
java      A pool's job, a monitor and collections of garbage, by the program's clock (--classes).
ring      2,000 threads pass a token, which the main thread waits for by its own clock.
nginx     It does nothing, and nothing of the recorder is in its report.
sleeps    Programs that only sleep (pg_sleep, Thread.sleep, asyncio, setTimeout, select): it is *deliberate sleep*.

Of each: the wall, what the report has in the name of each place and the truth there, *other path*, and what is misattributed, in percent of
the wall: what is missing at a place (but for what the waiting program itself was awake by the scheduler's account: no wait), other paths (in none of these
is there one), and what is unaccounted. And the first three findings.
"""
import argparse
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import types

from proc_events import Listener, is_there, waited_for

KERNEL = re.compile(r"\[(kworker|jbd2|ksoftirqd|migration|rcu_|kswapd|swapper|iou-|kthreadd)")
QUERY = "explain (analyze, timing off, summary on, format json) select count(*), sum(length(v)) from t where k % 7 = 3"


class Report:
    """What was recorded of one aggregate."""

    def __init__(self, out):
        store = ["--store", f"{out}/store", "--release", "r", "--aggregate", "main"]
        text, whole = (subprocess.run([f"{BIN}/wakepath-reporter", *store, "--format", form], check=True, capture_output=True, text=True,
                                           timeout=120).stdout for form in ("folded", "json"))
        self.whole = json.loads(whole)
        self.rows = [(stack.split(";"), int(ns)) for stack, _, ns in (line.rpartition(" ") for line in text.splitlines())]

    def sum(self, fits):
        return sum(ns for frames, ns in self.rows if fits(frames))

    def led_to(self, name):
        """ns of the stacks in which a process or a thread of that name is."""
        return self.sum(lambda frames: any(frame[0] == "[" and frame.endswith(f"{name}]") for frame in frames))

    def behind(self, name):
        """ns that the program itself could have run while a process of that name did: it asked, and was pushed off before it slept."""
        return self.sum(lambda frames: f"sched:behind [{name}]" in frames and not any(frame[0] == "[" for frame in frames[1:]))

    def own(self):
        """ns that the program itself stands runnable, or on a processor as well: neither asleep nor waiting for anybody."""
        def fits(frames):
            is_own = not any(frame[0] == "[" or frame.startswith("path:") for frame in frames[1:])
            is_runnable = frames[-1].startswith("sched:")
            return is_own and (is_runnable or not any(frame.startswith("sleep:") for frame in frames))
        return self.sum(fits)

    def by_name(self):
        """{name: ns} by the last process or thread of a stack that is none of the kernel's own."""
        spent = {}
        for frames, ns in self.rows:
            name = [frame for frame in frames if frame[0] == "[" and not KERNEL.match(frame)][-1][1:-1]
            spent[name] = spent.get(name, 0) + ns
        return spent


class Spinners:
    """Processes that compute, until the program ends: what makes the report has the machine to itself."""

    def __init__(self, count):
        self.processes = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes = []


class Watcher:
    """Reads the scheduler's account of a thread, (on a processor, runnable) in ns, as long as it lives: `told` is the last one."""

    def __init__(self, path, spinners):
        self.path, self.spinners, self.told, self.pid, self.is_over = path, spinners, (0, 0), 0, False
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.is_over:
            try:
                self.pid = self.pid or int(read(self.path))
                self.told = tuple(map(int, read(f"/proc/{self.pid}/task/{self.pid}/schedstat").split()[:2]))
            except (OSError, ValueError):  # not yet, or not any more
                if self.pid:
                    return self.spinners.stop()
            time.sleep(0.005)
        return None

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Run:
    """A program as it was recorded: what it printed, its own clocks, and the kernel's (proc_events.py), and the report."""

    def __init__(self, folder, spinners, *command):
        out = f"{folder}/out"
        shutil.rmtree(out, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.remove(f"{folder}/pid")
        with Listener() as listener, Spinners(spinners) as spinning, Watcher(f"{folder}/pid", spinning) as watcher:
            self.printed = subprocess.run([f"{BIN}/wakepath", "record", "--quiet", "--out", out, "--release", "r", "--", "sh", "-c",
                                           f'echo $$ >{folder}/pid; exec "$@"', "sh", *command], check=True, cwd=folder, timeout=200,
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout
        self.processes = listener.processes()
        self.root = next(process for process in self.processes if process.pid == watcher.pid)
        self.wall = self.root.ended_ns - self.root.exec_ns
        self.awake = sum(watcher.told)
        self.report = Report(out)


class Verdict:
    """One program's line."""

    def __init__(self, name, run):
        self.name, self.run, self.wrong, self.parts = name, run, 0, []
        self.categories = run.report.whole["categories"]
        self.other, self.unaccounted = self.categories["other_path"], self.categories["unaccounted"]

    def place(self, name, truth, said):
        self.parts.append(f"{name} {said / 1e6:.1f} of {truth / 1e6:.1f} ms")
        self.wrong += max(0, truth - said)

    def without_own_time(self, awake_ns):
        """The program's clock says how long it waited until it went on: what the report has of it itself awake, and the scheduler as
        well, is none of those for whom it waited."""
        told = self.run.report.own()
        self.wrong = max(0, self.wrong - min(told, awake_ns))
        self.parts.append(f"itself awake {told / 1e6:.1f} ms, in its wait {awake_ns / 1e6:.1f} ms by the scheduler")
        return self

    def tell(self, bound):
        """Whether it is within the bound. An other path is missing at a place of the truth as well: it counts once."""
        wrong = max(self.wrong, self.other + self.unaccounted)
        off, parts = 100 * wrong / self.run.wall, (f"{name} {100 * ns / self.run.wall:.2f} %" for name, ns in
                                                   (("other path", self.other), ("unaccounted", self.unaccounted), ("misattributed", wrong)))
        print(f"{self.name}: wall {self.run.wall / 1e6:.1f} ms, in the report {self.run.report.whole['total_ns'] / 1e6:.1f} ms; "
              f"{', '.join([*self.parts, *parts])}", flush=True)
        for finding in self.run.report.whole["explanations"][:3]:
            print(f"  {finding['sentence']}", flush=True)
        return off <= bound


def postgres_programs():
    return sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]


@contextlib.contextmanager
def postgres(folder):
    """A server with a table of some 70 MB, on a unix socket; its folder and its programs'."""
    programs, data = postgres_programs(), f"{folder}/data"
    as_postgres = ["runuser", "-u", "postgres", "--"]
    os.chmod(folder, 0o755)
    os.mkdir(data)
    shutil.chown(data, "postgres")
    options = f"-p 18380 -k {data} -c listen_addresses= -c log_disconnections=on -c max_parallel_workers_per_gather=0 -c jit=off -c autovacuum=off"
    for command in ([f"{programs}/initdb", "-D", data, "-A", "trust"], [f"{programs}/pg_ctl", "-D", data, "-w", "-o", options, "-l", f"{data}/log", "start"]):
        subprocess.run([*as_postgres, *command], check=True, cwd="/", stdout=subprocess.DEVNULL)
    try:
        ask(data, "create table t as select g k, repeat('x', 100) v from generate_series(1, 500000) g", "vacuum analyze t")
        yield data
    finally:
        subprocess.run([*as_postgres, f"{programs}/pg_ctl", "-D", data, "-m", "immediate", "stop"], check=True, cwd="/", stdout=subprocess.DEVNULL)


def psql(data, *statements):
    commands = [word for statement in statements for word in ("-c", statement)]
    return [f"{postgres_programs()}/psql", "-h", data, "-p", "18380", "-U", "postgres", "-X", "-q", "-A", "-t", *commands, "postgres"]


def ask(data, *statements):
    subprocess.run(psql(data, *statements), check=True, stdout=subprocess.DEVNULL)


def last_session_ns(data):
    """What the log says of the last one."""
    with open(f"{data}/log", encoding="utf-8") as file:
        hours, minutes, seconds = re.findall(r"session time: (\d+):(\d+):([\d.]+)", file.read())[-1]
    return int(1e9 * (3600 * int(hours) + 60 * int(minutes) + float(seconds)))


def play_postgres(folder, options):
    with postgres(folder) as data:
        run = Run(folder, options.spinners, *psql(data, *[QUERY] * 5))
        plans = [json.loads(f"[{text}") for text in re.split(r"(?m)^\[", run.printed)[1:]]
        executed = sum(1e6 * (plan[0]["Planning Time"] + plan[0]["Execution Time"]) for plan in plans)
        session = last_session_ns(data)
    verdict = Verdict("postgres", run)
    verdict.place("PostgreSQL by EXPLAIN", executed, run.report.led_to("postgres") + run.report.behind("postgres"))
    verdict.parts.append(f"session {session / 1e6:.0f} ms")
    yield verdict


def write_sources(folder):
    function = "double g{0}(double*a,int n){{double s=0;for(int k=0;k<n;k++)for(int m=0;m<n;m++)s+=a[k]*a[m]+{0};return s;}}\n"
    for i in range(16):
        with open(f"{folder}/f{i}.c", "w", encoding="ascii") as file:
            file.write("#include <stdio.h>\n#include <stdlib.h>\n" + "".join(function.format(j) for j in range(10)))
    with open(f"{folder}/Makefile", "w", encoding="ascii") as file:
        file.write(f"all: {' '.join(f'f{i}.o' for i in range(16))}\n%.o: %.c\n\tcc -O2 -c -o $@ $<\n")


def play_make(folder, options):
    write_sources(folder)
    run = Run(folder, options.spinners, "make", "-j2", "-s")
    truth, said = waited_for(run.root, run.processes), run.report.by_name()
    own, alone = run.report.own(), truth.pop("make")
    verdict = Verdict("make", run)
    verdict.parts.append(f"itself awake {own / 1e6:.1f} of {run.awake / 1e6:.1f} ms by the scheduler, without a child {alone / 1e6:.1f} ms")
    for name, ns in sorted(truth.items(), key=lambda item: -item[1]):
        verdict.place(name, ns, said.get(name, 0))
    # With a child it did not wait as long as it was awake: a wait is the wall less the own time. What it stands as asleep is no such time.
    verdict.wrong = max(0, verdict.wrong - min(max(0, own - alone), run.awake))
    yield verdict


def play_java(folder, options):
    run = Run(folder, options.spinners, "java", "-XX:+UseG1GC", "-cp", options.classes, "ThreeWaits")
    verdict = Verdict("java", run)
    places = ("pool-1-thread-1", "keeper", "VM Thread")
    for place, truth in zip(places, map(int, run.printed.partition("waited ")[2].split())):
        verdict.place(place, 1e6 * truth, run.report.led_to(place))
    yield verdict


def play_ring(folder, options):
    run = Run(folder, options.spinners, f"{BIN}/truth_ring", "2000", "1" if options.spinners else "10")
    verdict = Verdict("ring", run)
    verdict.place("station", int(re.search(r"passed in (\d+)", run.printed)[1]), run.report.led_to("station"))
    yield verdict.without_own_time(int(re.search(r"awake (\d+)", run.printed)[1]))


SLEEP_S = 0.5
SLEEPERS = {
    "select": [sys.executable, "-c", f"import select\nfor _ in range(4): select.select([], [], [], {SLEEP_S})"],
    "perl": ["perl", "-e", f"select(undef, undef, undef, {SLEEP_S}) for 1..4"],
    "asyncio": [sys.executable, "-c", f"import asyncio\nasync def main():\n for _ in range(4): await asyncio.sleep({SLEEP_S})\nasyncio.run(main())"],
    "setTimeout": ["node", "-e", f"let n = 0; function f() {{ if (n++ < 4) setTimeout(f, {1000 * SLEEP_S}) }}; f()"],
    "Thread.sleep": ["java", "-cp", "CLASSES", "Sleeps"],
    "pg_sleep": None,
}


def sleepers(data, options):
    for name, command in SLEEPERS.items():
        command = psql(data, *[f"select pg_sleep({SLEEP_S})"] * 4) if command is None else command
        yield name, [options.classes if word == "CLASSES" else word for word in command]


def play_sleeps(folder, options):
    """Held against it is what is not *deliberate sleep* of two seconds."""
    with postgres(folder) as data:
        for name, command in sleepers(data, options):
            verdict = Verdict(name, Run(folder, options.spinners, *command))
            verdict.place("deliberate sleep", 4e9 * SLEEP_S, verdict.categories["deliberate_sleep"])
            yield verdict


def play_nginx(folder, options):
    """Attached to while it does nothing: wrong is what names a part of the recorder."""
    with open(f"{folder}/nginx.conf", "w", encoding="ascii") as file:
        file.write(f"daemon off; worker_processes 2; pid {folder}/nginx.pid; error_log {folder}/log; events {{}} http {{ access_log off; "
                   f"server {{ listen unix:{folder}/socket; }} }}")
    out, begun = f"{folder}/out", time.monotonic_ns()
    with subprocess.Popen(["nginx", "-e", f"{folder}/log", "-c", f"{folder}/nginx.conf"]) as nginx:
        try:
            while not os.path.exists(f"{folder}/nginx.pid"):
                time.sleep(0.01)
            workers = read(f"/proc/{nginx.pid}/task/{nginx.pid}/children").split()
            subprocess.run([f"{BIN}/wakepath", "record", "--quiet", "--out", out, "--release", "r", "--aggregate",
                            f"main=pid={'+'.join([str(nginx.pid), *workers])}", "--duration", "2"], check=True, timeout=200)
        finally:
            nginx.terminate()
    verdict = Verdict("nginx", types.SimpleNamespace(wall=time.monotonic_ns() - begun, report=Report(out)))
    verdict.unaccounted = 0  # who sleeps all the time waits for nobody who could be known
    verdict.wrong = verdict.run.report.sum(lambda frames: any("wakepath" in frame or frame.endswith(":recording") for frame in frames))
    verdict.parts.append(f"recording cost {verdict.run.report.whole['recording']['cpu_ns'] / 1e6:.1f} ms of processors")
    yield verdict


# How each is played, and the programs that it needs.
CASES = {"nginx": (play_nginx, ["nginx"]), "postgres": (play_postgres, ["runuser"]), "make": (play_make, ["make", "cc"]),
         "java": (play_java, ["java"]), "ring": (play_ring, []), "sleeps": (play_sleeps, ["java", "node", "perl", "runuser"])}


def lack_of(case, options):
    """What is missing for it, or None."""
    programs = [program for program in CASES[case][1] if not shutil.which(program)]
    if "runuser" in CASES[case][1] and not glob.glob("/usr/lib/postgresql/*/bin"):
        programs.append("PostgreSQL")
    if "java" in CASES[case][1] and not os.path.exists(f"{options.classes}/ThreeWaits.class"):
        programs.append("compiled Java programs")
    return f"no {', '.join(programs)}" if programs else None


def hold(case, options):
    """Whether all of its verdicts are within the bound."""
    with tempfile.TemporaryDirectory(prefix="wakepath-real-", dir="/var/tmp") as folder:
        held = [verdict.tell(options.bound) for verdict in CASES[case][0](folder, options)]
        if options.keep:
            shutil.copytree(f"{folder}/out", f"{options.keep}/{case}.{options.spinners}", dirs_exist_ok=True)
    return all(held)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spinners", type=int, default=0, help="how many others compute meanwhile")
    parser.add_argument("--bound", type=float, default=3, help="percent of the wall that may be misattributed")
    parser.add_argument("--keep", metavar="FOLDER", help="for the last recording of each case")
    parser.add_argument("--classes", default="build/release/tests/truth", metavar="FOLDER", help="of the compiled Java programs")
    parser.add_argument("case", nargs="*", default=list(CASES))
    options = parser.parse_args()
    options.classes = os.path.abspath(options.classes)
    if not is_there():
        print("SKIPPED: the kernel does not tell of births and exits (the proc connector)")
        return 77
    held = []
    for case in options.case:
        lack = lack_of(case, options)
        print(f"{case}: SKIPPED: {lack}", flush=True) if lack else held.append(hold(case, options))
    return 77 if not held else 0 if all(held) else 1


BIN = os.path.abspath(os.environ.get("WAKEPATH_BIN", "build/release/bin"))
if __name__ == "__main__":
    sys.exit(main())
