#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""overhead.py BIN_DIR [--limit PERCENT] [--seconds N]: a storm of context switches (perf bench sched messaging) against
--overhead-limit. Prints JSON: what the collector took of one CPU once it has settled (`own_percent` its threads,
`programs_percent` its BPF programs); `over_percent`: how far both together are over the limit; `since_start_percent`: from the first switch
of the storm on, with what was spent until it was judged; the level, the share of the time with events, the switches of the host and the
runs of the programs a second and what one of them takes in the mean (docs/overhead.md)."""
import argparse, json, os, platform, re, signal, subprocess, tempfile, time, urllib.request

SETTLE_S = 40


def switches():
    with open("/proc/stat", encoding="ascii") as file:
        return int(re.search(r"^ctxt (\d+)$", file.read(), re.M)[1])


def figures(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines} | {"switches": switches(), "at": time.monotonic()}


def rates(first, last):
    return {name: (last[name] - first.get(name, 0)) / (last["at"] - first["at"]) for name in last if name != "at"}


def own(rate):
    return rate["process_cpu_seconds_total"] - rate["wakepath_collector_reading_seconds_total"]


def storm(seconds, address):
    """The figures before it, when it has gone on for a while, and at the end."""
    before = figures(address)
    process = subprocess.Popen(["sh", "-c", "while :; do perf bench sched messaging -g 8 -l 5000; done"], start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(SETTLE_S)
    settled = figures(address)
    time.sleep(seconds)
    last = figures(address)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return before, settled, last


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--limit", default="1")
    parser.add_argument("--seconds", type=float, default=64)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        collector = subprocess.Popen([f"{options.bin}/wakepath-collector", "--no-config", "--output", f"{folder}/capture", "--metrics",
                                      "127.0.0.1:0", "--overhead-limit", options.limit], stderr=subprocess.PIPE, text=True)
        address = next(filter(None, (re.search(r"address=(\S+)", line) for line in collector.stderr)))[1]
        time.sleep(5)
        before, settled, last = storm(options.seconds, address)
        collector.terminate()
        collector.wait()
    rate, whole = rates(settled, last), rates(before, last)
    programs, runs = rate["wakepath_collector_bpf_seconds_total"], rate["wakepath_collector_bpf_runs_total"]
    print(json.dumps({"machine": platform.processor() or platform.machine(), "kernel": platform.release(), "cpus": os.cpu_count(),
                      "load": os.getloadavg()[0], "limit_percent": float(options.limit), "level": last["wakepath_collector_shedding_level"],
                      "with_events": round(1 - rate['wakepath_collector_left_out_seconds_total{what="events"}'], 3),
                      "own_percent": round(100 * own(rate), 2), "programs_percent": round(100 * programs, 2),
                      "over_percent": round(100 * (own(rate) + programs) - float(options.limit), 2),
                      "since_start_percent": round(100 * (own(whole) + whole["wakepath_collector_bpf_seconds_total"]), 2),
                      "since_start_s": round(last["at"] - before["at"]),
                      "switches_a_second": round(rate["switches"]), "runs_a_second": round(runs),
                      "ns_a_run": round(1e9 * programs / max(runs, 1), 1)}))


if __name__ == "__main__":
    main()
