#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""long_run.py BUILD_DIR [--totals FILE] [--found DIR] [--goal N] [--seconds S] [--turn S] [--jobs N] [TARGET]...: goes on with what
was fuzzed before. Runs the targets of a built preset ("fuzz" or "fuzz-quick") in turns, at the priority of what is idle, and adds the
executions to FILE (executions.json in the folder of what was found) after each turn. The next turn is of the target that is nearest to N executions in
time, so that most of them get there first. Inputs that reach new code are kept in DIR and shared by the presets, so that what one
finds the other runs too. A target with a finding has no more turns. --print: only the table of docs/security.md.
Exit status 1: there is a finding, its input is in DIR/findings."""
import argparse, fcntl, json, os, re, signal, subprocess, sys, threading, time

import corpus

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 600  # a turn may end so much later: the first one reads the whole corpus
INTERRUPTED = 72  # libFuzzer's status after SIGINT

# The longest input of each: what the format needs to say all it can, and not more. The kept inputs reach as much code (`-runs=0 -max_len=N`)
# when they are cut to that.
LENGTHS = {"allowlist": 512, "batch": 1024, "config": 512, "engine": 400, "frame": 1024, "interp": 4352, "perf_script": 640, "session": 512, "shard": 1024,
           "unwind": 2048, "value": 1024}


class Totals:
    """{target: {preset: {executions, seconds}}}, on disk after each change."""

    def __init__(self, path):
        self.path, self.by_target = path, {}
        self.read()

    def read(self):
        if os.path.exists(self.path):
            with open(self.path, encoding="ascii") as file:
                self.by_target = json.load(file)

    def of(self, target):
        return sum(run["executions"] for run in self.by_target.get(target, {}).values())

    def rate(self, target, preset):
        run = self.by_target.get(target, {}).get(preset, {"executions": 0, "seconds": 0})
        return run["executions"] / run["seconds"] if run["seconds"] else float("inf")

    def add(self, target, preset, executions, seconds):
        """Others may count in the same file."""
        with open(self.path + ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.read()
            self.put(target, preset, executions, seconds)

    def put(self, target, preset, executions, seconds):
        run = self.by_target.setdefault(target, {}).setdefault(preset, {"executions": 0, "seconds": 0})
        run["executions"] += executions
        run["seconds"] = round(run["seconds"] + seconds, 1)
        with open(self.path + ".new", "w", encoding="ascii") as file:
            json.dump(self.by_target, file, indent=1, sort_keys=True)
            file.write("\n")
        os.rename(self.path + ".new", self.path)

    def table(self):
        presets = ("fuzz", "fuzz-quick")
        lines = ["| target | with the address sanitizer | quick | together |", "| --- | --- | --- | --- |"]
        for target in sorted(LENGTHS, key=self.of, reverse=True):
            counts = [self.by_target.get(target, {}).get(preset, {"executions": 0})["executions"] for preset in presets]
            lines.append("| `%s` | %s | %s | %s |" % (target, *("{:,}".format(count) for count in (*counts, sum(counts)))))
        return "\n".join(lines)


class Turns:
    """Who is next, what runs, and what came of it. All under one lock."""

    def __init__(self, given, totals):
        self.given, self.totals, self.preset = given, totals, os.path.basename(os.path.abspath(given.folder))
        self.lock, self.is_ending = threading.Lock(), False
        self.end = time.monotonic() + given.seconds
        self.running, self.findings, self.played = {}, [], {}

    def take(self):
        """The next target, or None."""
        with self.lock:
            free = [name for name in self.given.targets or sorted(LENGTHS)
                    if name not in self.running and name not in self.findings and self.totals.of(name) < self.given.goal]
            if self.is_ending or time.monotonic() >= self.end or not free:
                return None
            name = min(free, key=lambda name: (self.given.goal - self.totals.of(name)) / self.totals.rate(name, self.preset))
            self.running[name] = None
            return name

    def play(self, name):
        """One turn. (executions, is there a finding) Every other one goes by what is reached alone, not by how often: it is up to twice as quick."""
        with self.lock:
            is_counting = self.played[name] = not self.played.get(name, True)
        seconds = max(1, int(min(self.given.turn, self.end - time.monotonic())))
        found, findings = "%s/%s" % (self.given.found, name), "%s/findings/%s-" % (self.given.found, name)
        os.makedirs(found, exist_ok=True)
        os.makedirs(os.path.dirname(findings), exist_ok=True)
        words = ["chrt", "-i", "0", "nice", "-n", "19", "%s/bin/fuzz_%s" % (self.given.folder, name), "-max_total_time=%d" % seconds,
                 "-max_len=%d" % LENGTHS[name], "-print_final_stats=1", "-verbosity=0", "-rss_limit_mb=1024", "-entropic=0",
                 "-reload=0", "-reduce_inputs=0", "-use_counters=%d" % is_counting, "-artifact_prefix=" + findings, found, "%s/named/%s" % (self.given.found, name)]
        with self.lock: # a group of its own, so that ^C comes through stop(), but no session: its share of the processor would be one of its own
            child = self.running[name] = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                                          errors="replace", process_group=0)
        try:
            said = child.communicate(timeout=seconds + PATIENCE_S)[1]
        except subprocess.TimeoutExpired:
            child.kill()
            said = child.communicate()[1]
        executed = re.search(r"number_of_executed_units:\s*(\d+)", said)
        is_finding = child.returncode not in (0, INTERRUPTED)
        if is_finding:
            print("%s: status %d\n%s" % (name, child.returncode, said[-4000:]), file=sys.stderr, flush=True)
        return int(executed[1]) if executed else 0, is_finding

    def go_on(self):
        while (name := self.take()):
            begin = time.monotonic()
            count, is_finding = self.play(name)
            with self.lock:
                del self.running[name]
                self.totals.add(name, self.preset, count, time.monotonic() - begin)
                if is_finding:
                    self.findings.append(name)
                print(json.dumps({"target": name, "preset": self.preset, "executions": count, "total": self.totals.of(name),
                                  "seconds": round(time.monotonic() - begin, 1), "finding": is_finding}), flush=True)

    def stop(self, *_):
        """Without the lock: the thread that a signal interrupts may hold it. libFuzzer says how far it came when it is interrupted."""
        self.is_ending = True
        for child in list(self.running.values()):
            if child:
                child.send_signal(signal.SIGINT)


def main():
    parser = argparse.ArgumentParser(description="Fuzzes in turns, and counts.")
    parser.add_argument("folder", nargs="?", help="of a built preset, e.g. build/fuzz-quick")
    parser.add_argument("--totals")
    parser.add_argument("--found", default=os.path.expanduser("~/.cache/wakepath-fuzz"))
    parser.add_argument("--goal", type=int, default=100000000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--turn", type=float, default=300)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--print", action="store_true", dest="is_table")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    given = parser.parse_intermixed_args()
    os.makedirs(given.found, exist_ok=True)
    totals = Totals(given.totals or given.found + "/executions.json")
    if given.is_table:
        print(totals.table())
        return 0
    if not given.folder or set(given.targets) - set(LENGTHS):
        parser.error("a folder of a built preset, and targets among " + " ".join(sorted(LENGTHS)))
    given.folder, given.found = os.path.abspath(given.folder), os.path.abspath(given.found)
    for name in given.targets or sorted(LENGTHS):
        corpus.unpack(given.found + "/named", name)
    turns = Turns(given, totals)
    signal.signal(signal.SIGTERM, turns.stop)
    signal.signal(signal.SIGINT, turns.stop)
    threads = [threading.Thread(target=turns.go_on) for _ in range(given.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 1 if turns.findings else 0


if __name__ == "__main__":
    sys.exit(main())
