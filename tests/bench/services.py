#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""services.py BIN_DIR [BIN_DIR ...] [--runs N] [--seconds N] [--settle N] [--only NAME,...] [--half] [--programs]: what a service pays for being traced, as JSON.

At full load (P2a, P2d): nginx with a file of 612 bytes, asked by wrk, and redis, asked for GET by redis-benchmark, each over 8 connections.
More of them (P2c), each named by --only or all by --only all: redis-set; pgbench-select and pgbench-tpcb (PostgreSQL, scale 10, over TCP);
memcached, asked for one key; wsgi, a Python application under gunicorn with a worker that answers JSON, asked by wrk. What is not installed is in
`skipped`, with the reason.
`cpu_us` is the processor time of the server's processes by the requests served, which is the steadier figure, `requests` are those a second,
`p99_us` what 99 of 100 requests take at most, `sleeps` those of the server's lasting processes a request. Each traced run comes right after an
untraced one and is compared with that one: `cpu_percent` is what a request costs more, `lost_percent` how many fewer requests there are,
`p99_times` by how much p99 grows. A collector has seen a second of the same before. Of several builds by turns; a
build may be followed by options of the collector in the same argument: "BIN --frequency 0".
--settle    so many seconds of the same instead of one, under the overhead limit: "BIN --overhead-limit 1" --settle 45 --seconds 16
--real-time server, client and collector have real-time priority while a run lasts: on a machine with other work. The kernel leaves that 5 %
--half      (P2b) nginx at half of its maximum: requests a second, p50 and p99 in microseconds
--programs  which BPF programs run for a request, and how long, by the kernel's statistics (kernel.bpf_stats_enabled): a run of its own
An idle machine, as root; asserts nothing."""
import argparse, glob, json, os, pwd, re, select, shlex, shutil, signal, socket, subprocess, sys, tempfile, time
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


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError): # it has ended
        return ""


def processes_of(pid):
    """It and its children."""
    children = {int(child) for path in glob.glob(f"/proc/{pid}/task/*/children") for child in read(path).split()}
    return [pid, *children]


def threads_of(pid):
    return [path for process in processes_of(pid) for path in glob.glob(f"/proc/{process}/task/*")]


def cpu_ns(pid):
    """With what its ended children took, in the kernel's ticks."""
    ended = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(int((read(path + "/schedstat").split() or ["0"])[0]) for path in threads_of(pid)) + \
        (int(ended[13]) + int(ended[14])) * 10**9 // os.sysconf("SC_CLK_TCK")


def sleeps(pids):
    paths = [path for pid in pids for path in glob.glob(f"/proc/{pid}/task/*/status")]
    found = (re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", read(path), re.M) for path in paths)
    return sum(int(match[1]) for match in found if match)


def wrk(port, path, seconds):
    """(requests, p99 in microseconds)"""
    text = MEASURE.run("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}", "--latency", f"http://127.0.0.1:{port}{path}")
    if "Non-2xx" in text:
        raise RuntimeError(text)
    value, unit = re.search(r"^ +99%\s+([0-9.]+)(us|ms|s)$", text, re.M).groups()
    return int(re.search(r"(\d+) requests in", text)[1]), float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


def p99(values):
    values = sorted(values)
    return values[min(len(values) - 1, len(values) * 99 // 100)] if values else 0.0


class Service:
    """A server that runs while the object is used, and what asks it: ask(seconds) returns requests and p99 in microseconds."""
    needs, user = (), None

    def __init__(self, folder):
        self.folder, self.port = tempfile.mkdtemp(dir=folder), free_port()

    @classmethod
    def lacking(cls):
        return next((f"there is no {name}" for name in cls.needs if not shutil.which(name) and not glob.glob(name)), None)

    def __enter__(self):
        self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder,
                                        preexec_fn=MEASURE.die_with_parent, user=self.user)
        for _ in range(100):
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", self.port)):
                    return self.filled()
            time.sleep(0.05)
        raise RuntimeError(f"{self.command()[0]} does not listen")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def filled(self):
        return self

    def run_alone(self, seconds):
        """At real-time priority, as what asks it, which inherits that."""
        self.schedule("-f", "10")
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        try:
            return self.run(seconds)
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            self.schedule("-o", "0")

    def schedule(self, policy, priority):
        for pid in processes_of(self.process.pid): # what it starts later inherits that
            subprocess.run(["chrt", "-a", policy, "-p", priority, str(pid)], check=False, stderr=subprocess.DEVNULL)

    def run(self, seconds):
        """One run: microseconds of its processor time a request, requests a second, sleeps a request, p99."""
        pid = self.process.pid
        whole = set(processes_of(pid))
        taken, slept, begun = cpu_ns(pid), sleeps(whole), time.monotonic()
        requests, slow_us = self.ask(seconds)
        elapsed = time.monotonic() - begun
        for _ in range(100): # what it started for a connection counts once it has ended
            if whole.issuperset(processes_of(pid)):
                break
            time.sleep(0.01)
        return {"cpu_us": (cpu_ns(pid) - taken) / 1000 / requests, "requests": requests / elapsed, "p99_us": slow_us,
                "sleeps": max(0, sleeps(whole) - slept) / requests}


class Nginx(Service):
    needs = ("nginx", "wrk")

    def command(self):
        os.makedirs(self.folder + "/files", exist_ok=True)
        with open(self.folder + "/files/page", "w", encoding="ascii") as file:
            file.write("0123456789a\n" * 51)
        with open(self.folder + "/nginx.conf", "w", encoding="ascii") as file:
            file.write(NGINX.format(folder=self.folder, port=self.port))
        return ["nginx", "-p", self.folder, "-c", self.folder + "/nginx.conf"]

    def ask(self, seconds):
        return wrk(self.port, "/page", seconds)


class Redis(Service):
    needs, test, rate = ("redis-server", "redis-benchmark"), "get", 30000

    def command(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.folder]

    def ask(self, seconds):
        requests, begun = max(1000, int(self.rate * seconds)), time.monotonic()
        text = MEASURE.run("redis-benchmark", "-p", str(self.port), "-t", self.test, "-c", str(CONNECTIONS), "-n", str(requests), "--csv")
        self.rate = requests / (time.monotonic() - begun)
        columns, values = (re.findall(r'"([^"]*)"', line) for line in text.strip().splitlines()[-2:])
        return requests, 1000 * float(dict(zip(columns, values))["p99_latency_ms"])


class RedisSet(Redis):
    test = "set"


class Pgbench(Service):
    """A cluster of its own; transactions are told one in twenty, for p99."""
    programs = "/usr/lib/postgresql/*/bin/"
    needs, flags = (programs + "postgres", "pgbench"), ()

    def __init__(self, folder):
        super().__init__(folder)
        self.user = pwd.getpwnam("postgres").pw_uid
        os.chmod(folder, 0o755)
        os.chown(self.folder, self.user, -1)

    def program(self, name):
        return sorted(glob.glob(self.programs + name))[-1]

    def command(self):
        subprocess.run([self.program("initdb"), "-D", self.folder + "/data", "-A", "trust", "-U", "bench", "-N"], check=True,
                       stdout=subprocess.DEVNULL, user=self.user, cwd=self.folder)
        return [self.program("postgres"), "-D", self.folder + "/data", "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
                "-c", "unix_socket_directories=", "-c", "synchronous_commit=off", "-c", "autovacuum=off"]

    def pgbench(self, *flags):
        for _ in range(50): # it listens before it answers
            result = subprocess.run(["pgbench", "-h", "127.0.0.1", "-p", str(self.port), "-U", "bench", *flags, "postgres"],
                                    capture_output=True, text=True, cwd=self.folder)
            if not result.returncode:
                return result.stdout
            time.sleep(0.1)
        raise RuntimeError(result.stderr)

    def filled(self):
        self.pgbench("-i", "-q", "-s", "10")
        return self

    def ask(self, seconds):
        text = self.pgbench(*self.flags, "-n", "-c", str(CONNECTIONS), "-j1", "-T", str(seconds), "-l", "--sampling-rate=0.05", "-M", "prepared")
        slow = []
        for path in glob.glob(self.folder + "/pgbench_log.*"):
            slow += [float(line.split()[2]) for line in read(path).splitlines()]
            os.unlink(path)
        return int(re.search(r"transactions actually processed: (\d+)", text)[1]), p99(slow)


class PgbenchSelect(Pgbench):
    flags = ("-S",)


class Memcached(Service):
    needs = ("memcached",)

    def command(self):
        return ["memcached", "-p", str(self.port), "-l", "127.0.0.1", "-t", "1", "-u", "nobody"]

    def ask(self, seconds):
        """One process asks over all connections, each again once it has its answer."""
        value, sent, taken = b"VALUE key 0 100\r\n" + bytes(100) + b"\r\nEND\r\n", {}, []
        poll, end = select.epoll(), time.monotonic() + seconds
        sockets = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(CONNECTIONS)]
        sockets[0].sendall(b"set key 0 0 100\r\n" + bytes(100) + b"\r\n")
        sockets[0].recv(100)
        by_number = {one.fileno(): one for one in sockets}
        for number, one in by_number.items():
            poll.register(number, select.EPOLLIN)
            sent[number] = time.monotonic()
            one.sendall(b"get key\r\n")
        while time.monotonic() < end:
            for number, _ in poll.poll(1):
                if by_number[number].recv(4096) != value:
                    raise RuntimeError("memcached answers something else")
                now = time.monotonic()
                taken.append(1e6 * (now - sent[number]))
                sent[number] = now
                by_number[number].sendall(b"get key\r\n")
        for one in sockets:
            one.close()
        return len(taken), p99(taken)


class Wsgi(Service):
    needs = ("gunicorn", "wrk")

    def command(self):
        with open(self.folder + "/bench_app.py", "w", encoding="ascii") as file:
            file.write("""import json
def app(environ, start):
    body = json.dumps({"path": environ["PATH_INFO"], "squares": [i * i for i in range(100)]}).encode()
    start("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
""")
        return ["gunicorn", "--workers", "1", "--worker-class", "gthread", "--threads", "2", "--keep-alive", "60", "--bind",
                f"127.0.0.1:{self.port}", "bench_app:app"]

    def ask(self, seconds):
        return wrk(self.port, "/", seconds)


SERVICES = {"nginx": Nginx, "redis": Redis, "redis-set": RedisSet, "pgbench-select": PgbenchSelect, "pgbench-tpcb": Pgbench,
            "memcached": Memcached, "wsgi": Wsgi}


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
            service.run(self.options.settle)
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
        if all(before["p99_us"] for before, _ in pairs):
            table["p99_times"] = MEASURE.spread([after["p99_us"] / before["p99_us"] for before, after in pairs])
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
                    requests, _ = service.ask(self.options.seconds)
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
    parser.add_argument("--settle", type=int, default=1)
    parser.add_argument("--operations", type=int, default=100000, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="nginx,redis")
    parser.add_argument("--real-time", action="store_true")
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--programs", action="store_true")
    options = parser.parse_args()
    names = list(SERVICES) if options.only == "all" else [name for name in options.only.split(",") if name]
    skipped = {name: SERVICES[name].lacking() for name in names if SERVICES[name].lacking()}
    names = [name for name in names if name not in skipped]
    with tempfile.TemporaryDirectory(prefix="wakepath-services-") as folder:
        bench = Bench(options, folder)
        result = {"machine": MEASURE.machine(), "connections": CONNECTIONS, "skipped": skipped, "full_load": {name: bench.full_load(name) for name in names}}
        if options.programs:
            result["programs"] = bench.all_programs(names)
        if options.half:
            result["half_load"] = bench.half_load()
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
