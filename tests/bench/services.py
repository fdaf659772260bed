#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""services.py BIN_DIR [BIN_DIR ...] [--runs N] [--seconds N] [--only nginx,redis] [--half] [--programs]: what a service pays for being traced, as JSON.

At full load (P2a, P2d): nginx with a file of 612 bytes, asked by wrk, and redis, asked for GET by redis-benchmark, each over 8 connections.
`cpu_us` is the processor time of the server's threads by the requests served, which is the steadier figure, `requests` are those a second,
`sleeps` the server's sleeps a request. Each traced run comes right after an untraced one and is compared with that one: `cpu_percent` is what a
request costs more, `lost_percent` how many fewer requests there are. A collector has seen a second of the same before. Of several builds by turns; a
build may be followed by options of the collector in the same argument: "BIN --frequency 0".
--real-time server, client and collector have real-time priority while a run lasts: on a machine with other work. The kernel leaves that 5 %
--half      (P2b) nginx at half of its maximum: requests a second, p50 and p99 in microseconds
--programs  which BPF programs run for a request, and how long, by the kernel's statistics (kernel.bpf_stats_enabled): a run of its own
An idle machine, as root; asserts nothing."""
import argparse, json, os, re, shlex, signal, socket, subprocess, sys, tempfile, time
from importlib.machinery import SourceFileLoader

HERE = os.path.dirname(os.path.abspath(__file__))
COLLECTOR = SourceFileLoader("collector_bench", os.path.join(HERE, "collector")).load_module()
PROGRAMS = SourceFileLoader("programs", os.path.join(HERE, "programs.py")).load_module()
MEASURE = COLLECTOR.MEASURE
CONNECTIONS = 8
NGINX = """daemon off; master_process off; pid {folder}/pid; error_log {folder}/log;
events {{ worker_connections 512; }}
http {{ access_log off; keepalive_requests 100000000; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; location / {{ root {folder}/files; }} }} }}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def threads_of(pid):
    return [f"/proc/{pid}/task/{task}" for task in os.listdir(f"/proc/{pid}/task")]


def cpu_ns(pid):
    total = 0
    for path in threads_of(pid):
        with open(path + "/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


def sleeps(pid):
    total = 0
    for path in threads_of(pid):
        with open(path + "/status", encoding="ascii") as file:
            total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", file.read(), re.M)[1])
    return total


class Service:
    """A server that runs while the object is used, and what asks it."""
    def __init__(self, folder):
        self.folder, self.port = folder, free_port()

    def __enter__(self):
        self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=MEASURE.die_with_parent)
        for _ in range(100):
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", self.port)):
                    return self
            time.sleep(0.05)
        raise RuntimeError(f"{self.command()[0]} does not listen")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def run_alone(self, seconds):
        """At real-time priority, as what asks it, which inherits that."""
        MEASURE.run("chrt", "-a", "-f", "-p", "10", str(self.process.pid))
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        try:
            return self.run(seconds)
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            MEASURE.run("chrt", "-a", "-o", "-p", "0", str(self.process.pid))

    def run(self, seconds):
        """One run: microseconds of its processor time a request, requests a second, sleeps a request."""
        pid = self.process.pid
        taken, slept, begun = cpu_ns(pid), sleeps(pid), time.monotonic()
        requests = self.ask(seconds)
        elapsed = time.monotonic() - begun
        return {"cpu_us": (cpu_ns(pid) - taken) / 1000 / requests, "requests": requests / elapsed, "sleeps": (sleeps(pid) - slept) / requests}


class Nginx(Service):
    def command(self):
        os.makedirs(self.folder + "/files", exist_ok=True)
        with open(self.folder + "/files/page", "w", encoding="ascii") as file:
            file.write("0123456789a\n" * 51)
        with open(self.folder + "/nginx.conf", "w", encoding="ascii") as file:
            file.write(NGINX.format(folder=self.folder, port=self.port))
        return ["nginx", "-p", self.folder, "-c", self.folder + "/nginx.conf"]

    def ask(self, seconds):
        text = MEASURE.run("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}", f"http://127.0.0.1:{self.port}/page")
        if "Non-2xx" in text:
            raise RuntimeError(text)
        return int(re.search(r"(\d+) requests in", text)[1])


class Redis(Service):
    rate = 30000

    def command(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.folder]

    def ask(self, seconds):
        requests, begun = max(1000, int(self.rate * seconds)), time.monotonic()
        MEASURE.run("redis-benchmark", "-p", str(self.port), "-t", "get", "-c", str(CONNECTIONS), "-n", str(requests), "-q")
        self.rate = requests / (time.monotonic() - begun)
        return requests


SERVICES = {"nginx": Nginx, "redis": Redis}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.builds = {text: (shlex.split(text)[0], shlex.split(text)[1:]) for text in options.bin}

    def traced(self, text, work):
        binaries, flags = self.builds[text]
        bench = MEASURE.Bench(binaries, self.folder, 1, 0)
        collector = bench.start_collector("--output", bench.path("capture"), *flags)
        try:
            return work(collector)
        finally:
            bench.end_collector(collector)

    def pair(self, service, text):
        """(untraced, traced)"""
        run = service.run_alone if self.options.real_time else service.run
        plain = run(self.options.seconds)

        def steady(collector):
            service.run(1)
            COLLECTOR.Collector.settled(collector.pid)
            if self.options.real_time:
                MEASURE.run("chrt", "-a", "-f", "-p", "20", str(collector.pid))
            return run(self.options.seconds)
        return plain, self.traced(text, steady)

    def full_load(self, name):
        rows = {text: [] for text in self.builds}
        with SERVICES[name](self.folder) as service:
            service.run(1)
            for i in range(self.options.runs):
                MEASURE.log(f"{name} run {i + 1} of {self.options.runs}")
                for text, pairs in rows.items():
                    pairs.append(self.pair(service, text))
        return {text: self.summed(pairs) for text, pairs in rows.items()}

    @staticmethod
    def summed(pairs):
        table = {way: {key: MEASURE.spread([pair[i][key] for pair in pairs]) for key in pairs[0][i]}
                 for i, way in enumerate(("untraced", "traced"))}
        table["cpu_percent"] = MEASURE.spread([100 * (after["cpu_us"] / before["cpu_us"] - 1) for before, after in pairs])
        table["lost_percent"] = MEASURE.spread([100 * (1 - after["requests"] / before["requests"]) for before, after in pairs])
        return table

    def half_load(self):
        result = {}
        for text, (binaries, _) in self.builds.items():
            self.options.bin = binaries
            result[text] = COLLECTOR.Collector(self.options, self.folder).latency()
        return result

    def programs(self, name):
        """By program: runs a request, ns a run; and of all ns a request, whoever they ran for."""
        result = {}
        with SERVICES[name](self.folder) as service:
            for text in self.builds:
                def counted(collector):
                    service.run(1)
                    before = PROGRAMS.programs(collector.pid)
                    requests = service.ask(self.options.seconds)
                    return requests, before, PROGRAMS.programs(collector.pid)
                requests, before, after = self.traced(text, counted)
                rows = {}
                for number, (program, runs, ns) in after.items():
                    runs, ns = runs - before[number][1], ns - before[number][2]
                    if runs > requests / 100:
                        rows[program] = {"runs": round(runs / requests, 2), "ns": round(ns / runs, 1)}
                result[text] = {"programs": rows, "runs_a_request": round(sum(row["runs"] for row in rows.values()), 2),
                                "ns_a_request": round(sum(row["runs"] * row["ns"] for row in rows.values()))}
        return result

    def all_programs(self, names):
        with open(PROGRAMS.STATISTICS, encoding="ascii") as file:
            was = file.read()
        try:
            with open(PROGRAMS.STATISTICS, "w", encoding="ascii") as file:
                file.write("1")
            return {name: self.programs(name) for name in names}
        finally:
            with open(PROGRAMS.STATISTICS, "w", encoding="ascii") as file:
                file.write(was)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", nargs="+")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--operations", type=int, default=100000, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="nginx,redis")
    parser.add_argument("--real-time", action="store_true")
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--programs", action="store_true")
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name]
    with tempfile.TemporaryDirectory(prefix="wakepath-services-") as folder:
        bench = Bench(options, folder)
        result = {"machine": MEASURE.machine(), "connections": CONNECTIONS, "full_load": {name: bench.full_load(name) for name in names}}
        if options.programs:
            result["programs"] = bench.all_programs(names)
        if options.half:
            result["half_load"] = bench.half_load()
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
