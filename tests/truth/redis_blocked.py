#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""redis-benchmark beside a client that blocks the server with DEBUG SLEEP: what it waited for that leads to the server.

redis_blocked.py [--bound PERCENT] [--spinners N] [--unix]   programs are in $WAKEPATH_BIN

redis-benchmark waits in an event loop with a timer of 250 ms. The truth is the server's own clock: what its SLOWLOG says of the two
DEBUG SLEEPs. Held against it is all of the report in which redis-server is asleep in that call, be it waited for or on its own path;
what the report calls the benchmark's own timeouts or deliberate sleep stands in the wrong place.
"""
import argparse
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

PORT, SLEEPS = 17391, 2


class Server:
    def __init__(self):
        with socket.create_connection(("127.0.0.1", PORT)) as made:
            self.stream = made.makefile("rwb")

    def call(self, *words):
        self.stream.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in (str(w).encode() for w in words)))
        self.stream.flush()
        return self.answer()

    def answer(self):
        line = self.stream.readline()
        if line[:1] == b"*":
            return [self.answer() for _ in range(int(line[1:]))]
        if line[:1] == b"$":
            return self.stream.read(int(line[1:]) + 2)[:-2]
        if line[:1] == b"-":
            sys.exit(f"redis-server: {line.decode()}")
        return int(line[1:]) if line[:1] == b":" else line[1:-2]


def wait_for(what, ready):
    for _ in range(1500):
        if ready():
            return
        time.sleep(0.02)
    sys.exit(f"{what} did not happen within 30 s")


def is_up():
    try:
        return Server().call("PING") == b"PONG"
    except OSError:
        return False


def gets(server):
    text = server.call("INFO", "commandstats").decode()
    return next((int(line.split("calls=")[1].split(",")[0]) for line in text.splitlines() if line.startswith("cmdstat_get:")), 0)


def block():
    server = Server()
    for _ in range(SLEEPS):
        seen = gets(server)
        wait_for("a thousand GETs", lambda seen=seen: gets(server) > seen + 1000)
        server.call("DEBUG", "SLEEP", "1")


def record(wakepath, folder, where):
    blocker = threading.Thread(target=block)
    blocker.start()
    subprocess.run([wakepath + "/wakepath", "record", "--quiet", "--frequency", "199", "--out", folder, "--release", "v1", "--",
                    "redis-benchmark", *where, "-c", "20", "-n", "60000", "-t", "get", "-q"], check=True, stdout=subprocess.DEVNULL)
    blocker.join()
    return subprocess.run([wakepath + "/wakepath-reporter", "--store", folder + "/store", "--release", "v1", "--aggregate", "main",
                           "--format", "folded"], check=True, capture_output=True, text=True).stdout


def judge(text):
    """ms of the report in the server's sleeps, and in the benchmark's sleeps that lead to nobody."""
    blocked = alone = 0
    for line in text.splitlines():
        stack, _, ns = line.rpartition(" ")
        frames = stack.split(";")
        if "[redis-server]" in frames and frames[-1].startswith("sleep:clock_nanosleep"):
            blocked += int(ns)
        elif frames[0] == "[redis-benchmark]" and frames[-1].startswith("sleep:"):
            alone += int(ns)
    return blocked / 1e6, alone / 1e6


def run(wakepath, spinners, is_unix):
    with tempfile.TemporaryDirectory() as folder, open(folder + "/log", "wb") as log:
        redis = subprocess.Popen(["redis-server", "--port", str(PORT), "--bind", "127.0.0.1", "--save", "", "--dir", folder, "--unixsocket", folder + "/socket",
                                  "--enable-debug-command", "local", "--slowlog-log-slower-than", "100000"], stdout=log)
        spinning = []
        try:
            wait_for("redis-server's start", is_up)
            spinning = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(spinners)]
            text = record(wakepath, folder + "/report", ["-s", folder + "/socket"] if is_unix else ["-p", str(PORT)])
            truth = sum(row[2] for row in Server().call("SLOWLOG", "GET", "100")) / 1e3
        finally:
            for process in spinning + [redis]:
                process.kill()
                process.wait()
    return truth, *judge(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bound", type=float, default=3)
    parser.add_argument("--spinners", type=int, default=0)
    parser.add_argument("--unix", action="store_true", help="the benchmark is connected by a unix socket")
    args = parser.parse_args()
    truth, blocked, alone = run(os.environ["WAKEPATH_BIN"], args.spinners, args.unix)
    off = 100 * (abs(blocked - truth) + alone) / truth
    print(f"{args.spinners} spinners: the server slept {truth:.1f} ms by its own clock; {blocked:.1f} ms of the report are that, "
          f"{alone:.1f} ms are the benchmark's own: {off:.2f} % off")
    return off > args.bound


sys.exit(main())
