#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""overhead.py BIN_DIR [--limit PERCENT] [--seconds N]: a storm of context switches (perf bench sched messaging) against
--overhead-limit. Prints JSON: once it has settled, what the collector took of one CPU, the level, the runs of its BPF programs a
second and what one of them takes in the mean, most of which return at once (docs/overhead.md calls that the margin)."""
import argparse, json, os, platform, re, signal, subprocess, tempfile, time, urllib.request


def figures(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


def storm(seconds, address):
    """The figures before and after, when it has gone on for a while."""
    process = subprocess.Popen(["sh", "-c", "while :; do perf bench sched messaging -g 8 -l 5000; done"], start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(40)
    first = figures(address)
    begun = time.monotonic()
    time.sleep(seconds)
    last, seconds = figures(address), time.monotonic() - begun
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return {name: (last[name] - first.get(name, 0)) / seconds for name in last}, last["wakepath_collector_thinning_level"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--limit", default="1")
    parser.add_argument("--seconds", type=float, default=64)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        collector = subprocess.Popen([f"{options.bin}/wakepath-collector", "--no-config", "--output", f"{folder}/capture", "--metrics",
                                      "127.0.0.1:0", "--overhead-limit", options.limit], stderr=subprocess.PIPE, text=True)
        address = next(filter(None, (re.search(r"address=(\S+)", line) for line in collector.stderr)))[1]
        time.sleep(5)
        rates, level = storm(options.seconds, address)
        collector.terminate()
        collector.wait()
    own = rates["process_cpu_seconds_total"] - rates["wakepath_collector_reading_seconds_total"]
    programs, runs = rates["wakepath_collector_bpf_seconds_total"], rates["wakepath_collector_bpf_runs_total"]
    print(json.dumps({"machine": platform.processor() or platform.machine(), "kernel": platform.release(), "cpus": os.cpu_count(),
                      "limit_percent": options.limit, "level": level, "own_percent": round(100 * own, 2),
                      "programs_percent": round(100 * programs, 2), "runs_a_second": round(runs),
                      "ns_a_run": round(1e9 * programs / max(runs, 1), 1)}))


if __name__ == "__main__":
    main()
