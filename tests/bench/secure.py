#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""secure.py BIN_DIR [--capture FILE] [--runs N]: what CURVE costs. Replays one capture into new stores by ipc://, by tcp:// in
plaintext and by tcp:// with keys, in turns, and prints one JSON line: events a second from the first to the commit of the last
(wall), and for each core that the aggregator and the collector used (cpu). Without a capture it records one (as root)."""
import argparse
import json
import os
import socket
import statistics
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Bench:
    def __init__(self, bin_dir, folder):
        self.bin, self.folder, self.count = bin_dir, folder, 0
        for name in ("server", "client"):
            subprocess.run([self.program("wakepath"), "keygen", "--dir", self.path("keys"), "--host", "any", name], check=True,
                           stdout=subprocess.DEVNULL)
        key = self.path("keys")
        self.ways = {"ipc": ([], []), "tcp_insecure": (["--insecure"], ["--insecure"]),
                     "tcp_curve": (["--key", f"{key}/server.key", "--allow", f"{key}/client.pub"],
                                   ["--key", f"{key}/client.key", "--server-key", f"{key}/server.pub"])}

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name):
        return os.path.join(self.bin, name)

    def start(self, name, *flags):
        """A part that says when it is ready."""
        ready, word = os.pipe()
        process = subprocess.Popen([self.program(name), "--log-level", "error", "--ready-fd", str(word), *flags],
                                   stdout=subprocess.PIPE, text=True, pass_fds=[word])
        os.close(word)
        if not os.read(ready, 16):
            raise RuntimeError(f"{name} did not start")
        os.close(ready)
        return process

    def end(self, process):
        """Standard output and processor seconds."""
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"a part ended with {process.returncode}")
        return text, usage.ru_utime + usage.ru_stime

    def record(self):
        collector = self.start("wakepath-collector", "--output", self.path("capture"), "--stats", "--overhead-limit", "none")
        subprocess.run([self.program("bench_pace"), "8", "25"], check=True, stdout=subprocess.DEVNULL)
        collector.terminate()
        self.end(collector)
        return self.path("capture")

    def replay(self, capture, way):
        self.count += 1
        endpoint = f"ipc://{self.path('s')}{self.count}" if way == "ipc" else f"tcp://127.0.0.1:{free_port()}"
        bind, connect = self.ways[way]
        aggregator = self.start("wakepath-aggregator", "--bind", endpoint, "--store", self.path(f"store{self.count}"), "--aggregate",
                                "main=comm=bench_pace", "--exit-after-sessions", "1", *bind)
        begin = time.monotonic()
        collector = self.start("wakepath-collector", "--source", f"capture:{capture}", "--connect", endpoint, "--stats", *connect)
        text, sent_s = self.end(collector)
        _, taken_s = self.end(aggregator)
        stats = json.loads(text.strip().splitlines()[-1])
        return stats["events"], stats["bytes"], time.monotonic() - begin, taken_s, sent_s


def spread(values):
    return {"median": round(statistics.median(values)), "min": round(min(values)), "max": round(max(values)), "runs": len(values)}


def main():
    parser = argparse.ArgumentParser(description="Ingest with and without CURVE; prints a JSON line.")
    parser.add_argument("bin")
    parser.add_argument("--capture")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wakepath-bench-", dir="/var/tmp") as folder:
        bench = Bench(given.bin, folder)
        capture = given.capture or bench.record()
        rows = {way: [] for way in bench.ways}
        for _ in range(given.runs):
            for way, row in rows.items():
                row.append(bench.replay(capture, way))
        result = {"measure": "ingest", "unit": "events/s", "events": rows["ipc"][0][0], "bytes": rows["ipc"][0][1],
                  "cpus": os.cpu_count(), "load": os.getloadavg()[0]}
        for way, row in rows.items():
            result[way] = {"wall": spread([r[0] / r[2] for r in row]), "aggregator_cpu": spread([r[0] / r[3] for r in row]),
                           "collector_cpu": spread([r[0] / r[4] for r in row])}
        print(json.dumps(result))


if __name__ == "__main__":
    main()
