#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""curve.py BIN_DIR [--runs N] [--seconds N] [--trips N,N,...] [--svg FILE]: cost against events a second (bench_pace), as JSON and as a picture.

At each rate, by turns: untraced, the collector without a limit, `perf record -a -g` of the scheduler's events, bpftrace that sums off-CPU time by
stack. `percent` is the processor time of the workload and of the tool, in percent of one CPU; what a tool adds is the distance from `untraced`.
`budget_percent` is what --overhead-limit counts of the collector at that rate: its threads and its BPF programs; P4b, `whole_until`, is the rate
at which that passes 1 %, between two measured ones; null: it does not, or does at the lowest. A tool that does not run here is in `refused`. As root, on an idle
machine; asserts nothing."""
import argparse, json, os, resource, signal, socket, subprocess, sys, tempfile, time
from importlib.machinery import SourceFileLoader

HERE = os.path.dirname(os.path.abspath(__file__))
MEASURE = SourceFileLoader("measure", os.path.join(HERE, "measure.py")).load_module()
OVERHEAD = SourceFileLoader("overhead", os.path.join(HERE, "overhead.py")).load_module()
LIMIT = 1.0 # the default of --overhead-limit, percent
EVENTS_A_TRIP = 4 # two switches, two wakings
OFFCPU = """tracepoint:sched:sched_switch { if (args.prev_state > 0) { @from[args.prev_pid] = nsecs; @at[args.prev_pid, kstack, ustack] = count(); }
 $from = @from[args.next_pid]; if ($from) { @off[args.next_comm] = sum(nsecs - $from); delete(@from[args.next_pid]); } }
 END { clear(@from); clear(@at); clear(@off); }""".replace("args.", "args->")
NAMES = {"untraced": ("untraced", "#555"), "wakepath": ("Wakepath", "#06c"), "perf": ("perf record -a -g", "#c40"),
         "bpftrace": ("bpftrace, off-CPU time", "#292")}


class Refused(Exception):
    """A tool does not run here."""


def cpu_s(pid):
    """Processor time of a process, in nanosecond steps."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def children_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Curve(MEASURE.Bench):
    def __init__(self, options, folder):
        super().__init__(options.bin, folder, options.runs, 0)
        self.seconds, self.address = options.seconds, ""

    def paced(self, trips, pid=None):
        """(events a second, percent of one CPU): the workload's, and of the process `pid`."""
        before, tool, begun = children_s(), cpu_s(pid) if pid else 0, time.monotonic()
        made = self.pace(self.seconds, trips)
        elapsed = time.monotonic() - begun
        spent = children_s() - before + (cpu_s(pid) - tool if pid else 0)
        return EVENTS_A_TRIP * made / elapsed, 100 * spent / elapsed

    def beside(self, trips, process, settle_s):
        try:
            time.sleep(settle_s)
            if process.poll() is not None:
                raise Refused(f"it ended with {process.returncode}")
            self.pace(1, trips)
            return self.paced(trips, process.pid)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait()

    def wakepath(self, trips):
        """And what the limit counts."""
        address = f"127.0.0.1:{free_port()}"
        collector = self.start_collector("--output", self.path("capture"), "--metrics", address)
        try:
            self.pace(2, trips)
            first = OVERHEAD.figures(address)
            row = self.paced(trips, collector.pid)
            rate = OVERHEAD.rates(first, OVERHEAD.figures(address))
            return (*row, 100 * (OVERHEAD.own(rate) + rate["wakepath_collector_bpf_seconds_total"]))
        finally:
            self.end_collector(collector)

    def perf(self, trips):
        process = subprocess.Popen(["perf", "record", "-a", "-g", "-q", "-m", "4096", "-o", self.path("curve.data"), "-e", MEASURE.PERF_EVENTS],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self.beside(trips, process, 1.5)

    def bpftrace(self, trips):
        return self.beside(trips, subprocess.Popen(["bpftrace", "-e", OFFCPU], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), 4)

    def measured(self, rates):
        ways = {"untraced": self.paced, "wakepath": self.wakepath, "perf": self.perf, "bpftrace": self.bpftrace}
        points, refused = {way: [] for way in ways}, {}
        for trips in rates:
            rows = {way: [] for way in ways}
            for i in range(self.runs):
                MEASURE.log(f"curve: {EVENTS_A_TRIP * trips}000 events/s, run {i + 1} of {self.runs}")
                for way, run in ways.items():
                    try:
                        rows[way].append(() if way in refused else run(trips))
                    except (Refused, FileNotFoundError) as why:
                        refused[way] = str(why)
            for way, found in rows.items():
                if way not in refused:
                    keys = ("events", "percent", "budget_percent")[:len(found[0])]
                    points[way].append({key: MEASURE.spread([row[i] for row in found]) for i, key in enumerate(keys)})
        return {way: rows for way, rows in points.items() if way not in refused}, refused


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def medians(rows, key):
    return [(row["events"]["median"], row[key]["median"]) for row in rows]


def whole_until(points):
    """Events a second at which the limit is passed, on the line between two of the points."""
    for (left, low), (right, high) in zip(points, points[1:]):
        if low <= LIMIT < high:
            return left + (right - left) * (LIMIT - low) / (high - low)
    return None


def nice_top(value):
    return next(top for power in range(9) for top in (10**power, 2 * 10**power, 5 * 10**power) if top >= value)


def svg(points):
    """One line a tool: events a second to the right, percent of a CPU upwards."""
    most_x = nice_top(max(x for rows in points.values() for x, _ in medians(rows, "percent")))
    most_y = nice_top(max(y for rows in points.values() for _, y in medians(rows, "percent")))
    left, top, width, height = 60, 20, 560, 280
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 350" font-family="sans-serif" font-size="13">',
           "  <title>Processor time of a workload with its tracer, by events a second</title>", '  <rect width="860" height="350" fill="#fff"/>']
    for i in range(6):
        x, y = left + width * i / 5, top + height - height * i / 5
        out.append(f'  <path d="M{left} {y:.0f} H{left + width}" stroke="#ddd"/>')
        out.append(f'  <text x="{left - 8}" y="{y + 4:.0f}" text-anchor="end">{most_y * i / 5:g} %</text>')
        out.append(f'  <text x="{x:.0f}" y="{top + height + 20}" text-anchor="middle">{most_x * i / 5000:g}</text>')
    out.append(f'  <text x="{left + width / 2:.0f}" y="{top + height + 42}" text-anchor="middle">thousand events a second</text>')
    last = 1e9
    for way in sorted(points, key=lambda way: medians(points[way], "percent")[-1][1]):
        name, colour = NAMES[way]
        at = [(left + width * x / most_x, top + height - height * y / most_y) for x, y in medians(points[way], "percent")]
        out.append(f'  <polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in at)}"/>')
        out += [f'  <circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at]
        last = min(last - 16, at[-1][1])
        out.append(f'  <text x="{left + width + 12}" y="{last + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join(out + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--trips", default="5,10,20,30,40,50", help="round trips a millisecond, four events each")
    parser.add_argument("--svg")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wakepath-curve-", dir="/var/tmp") as folder:
        points, refused = Curve(options, folder).measured([int(text) for text in options.trips.split(",")])
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(svg(points))
    json.dump({"machine": MEASURE.machine(), "points": points, "whole_until": whole_until(medians(points["wakepath"], "budget_percent")),
               "refused": refused}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
