#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""P7: many collectors on one aggregator, of this machine both. fleet.py [--hosts N] [--rate EVENTS] [--seconds S] [--host-reports N] BIN
prints JSON.

The collectors are simulated, in one process (tests/fleetgen/fleet_load.c): each a session with a connection and a clock of its own
that tells, as it happens, of a fleet whose hosts talk with each other, so many events a second and host. Measured: events a second that
the aggregator kept up with, its memory a collector, its processor time, how old the newest of what a reader of the store sees is, and when
the first edge between two hosts was there. Both share the machine's processors: what the load takes is told as well."""
import argparse, json, os, resource, subprocess, sys, tempfile, threading, time

EPOCH_NS = 1700000000000000000 # a generated host's wall time is its monotonic clock and this (gen_fleet.c)


def memory_kb(pid, key="VmRSS"):
    with open("/proc/%d/status" % pid) as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key))


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as line:
        fields = line.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watch(threading.Thread):
    """Reads the store as a reporter does, again and again."""

    def __init__(self, binaries, store, pid):
        super().__init__(daemon=True)
        self.words = [binaries + "/wakepath-reporter", "--store", store, "--format", "json", "--release", "unversioned", "--aggregate", "web"]
        self.pid, self.lags, self.rss, self.edge_ns, self.is_over = pid, [], [], None, False

    def run(self):
        while not self.is_over:
            done = subprocess.run(self.words, capture_output=True, text=True)
            self.rss.append(memory_kb(self.pid))
            if not done.returncode:
                self.look(json.loads(done.stdout))
            time.sleep(1)

    def look(self, report):
        if report["edges"] and not self.edge_ns:
            self.edge_ns = time.monotonic_ns()
        if report["last_ns"]:
            self.lags.append((time.monotonic_ns() - (report["last_ns"] - EPOCH_NS)) / 1e9)


def median(values):
    return sorted(values)[len(values) // 2] if values else None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--host-reports", type=int, default=256)
    parser.add_argument("binaries")
    o = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard)) # a connection takes a few of each side
    with tempfile.TemporaryDirectory(prefix="wakepath-fleet-", dir="/var/tmp") as folder:
        endpoint, store = "ipc://%s/socket" % folder, folder + "/store"
        down, up = os.pipe()
        aggregator = subprocess.Popen([o.binaries + "/wakepath-aggregator", "--no-config", "--bind", endpoint, "--store", store, "--ready-fd",
                                       str(up), "--log-level", "warn", "--aggregate", "web=comm=web", "--host-reports", str(o.host_reports)],
                                      pass_fds=[up])
        os.close(up)
        if not os.read(down, 6):
            sys.exit("the aggregator did not start")
        empty_kb, began = memory_kb(aggregator.pid), time.monotonic()
        load = subprocess.Popen([o.binaries + "/fleet_load", "--connect", endpoint, "--hosts", str(o.hosts), "--rate", str(o.rate), "--seconds",
                                 str(o.seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        welcome = load.stderr.readline()
        start_ns, cpu_before, load_before = time.monotonic_ns(), cpu_seconds(aggregator.pid), cpu_seconds(load.pid)
        watch = Watch(o.binaries, store, aggregator.pid)
        watch.start()
        time.sleep(o.seconds)
        elapsed = (time.monotonic_ns() - start_ns) / 1e9
        cpu, load_cpu = cpu_seconds(aggregator.pid) - cpu_before, cpu_seconds(load.pid) - load_before
        watch.is_over = True
        watch.join()
        rss = watch.rss[len(watch.rss) // 2:]
        told = json.loads(load.communicate(timeout=300)[0] or "{}")
        peak_kb = memory_kb(aggregator.pid, "VmHWM")
        aggregator.terminate()
        code = aggregator.wait(timeout=120)
        stored = os.stat(store + "/unversioned/data.mdb").st_size
        began = time.monotonic()
        subprocess.run(watch.words, stdout=subprocess.DEVNULL, check=True)
        read_s = time.monotonic() - began
        print(json.dumps({
            "measure": "P7", "cpus": os.cpu_count(), "hosts": o.hosts, "welcome_after_s": float(welcome.split()[-2]),
            "rate_asked": o.rate * o.hosts, "events_per_s": told.get("events_per_s"), "talking_pairs": told.get("talking_pairs"),
            "waiting_batches_at_end": told.get("waiting_batches"), "aggregator_cpus": round(cpu / elapsed, 3), "load_cpus": round(load_cpu / elapsed, 3),
            "aggregator_rss_kb_per_collector": round((median(rss) - empty_kb) / o.hosts, 1), "aggregator_peak_kb": peak_kb,
            "first_edge_visible_s": round((watch.edge_ns - start_ns) / 1e9, 1) if watch.edge_ns else None,
            "newest_visible_s": {"median": round(median(watch.lags), 1), "most": round(max(watch.lags), 1)} if watch.lags else None,
            "host_reports": o.host_reports, "store_bytes": stored, "report_read_s": round(read_s, 2), "aggregator_exit": code}, indent=2))


if __name__ == "__main__":
    main()
