#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Preemption injected into a trace moves time to runnable and to nobody else.

preemption_law.py SCENARIO_RUN [SEED [TRACES]]

Random programs (requests over a pipe, a unix stream, TCP, an eventfd and a list under a lock, children that may execute another program, a thread
of its own under a futex, a chain of two servers, event loops with a timer over TCP and a pipe; the client works for a while before it sleeps) are explained as they are and with all that runs taken off its CPU at random instants for random times.
Each row of the report without a `sched:` frame must be the same, and the others must have grown by the time injected.
"""
import os
import random
import subprocess
import sys
import tempfile


class Trace:
    """Events as (time, line); who is on which CPU follows from the switches."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.threads = ["option view progress", "thread client 100 base", "thread server 200", "thread helper 300", "thread worker 101 pid=100 base comm=worker"]
        self.threads += [f"thread spin{cpu} {900 + cpu}" for cpu in range(4)]
        self.sockets = ["socket c 127.0.0.1:40000 127.0.0.1:80", "socket s 127.0.0.1:80 127.0.0.1:40000"]
        self.events, self.now, self.sent, self.answered, self.children = [], 0, 100, 5000, 0
        for cpu, thread in ((1, "server"), (2, "helper"), (3, "worker")):
            self.add(0, f"switch {cpu} idle R {thread}")
            self.add(5, f"switch {cpu} {thread} S idle read")
        self.add(3, "read server 2")
        self.add(10, "switch 0 idle R client")
        self.now, self.has_turned = 20, False
        rounds = [self.pipe, self.stream, self.tcp, self.fork, self.execute, self.chain, self.loop, self.loop_pipe, self.hand_over,
                  self.eventfd, self.list_under_lock]
        for _ in range(12):
            self.random.choice(rounds)()
            self.now += self.random.randrange(50, 500)
        self.add(self.now, "switch 0 client X idle")

    def add(self, at, line):
        self.events.append((at, line))

    def own(self):
        """What the client does before it sleeps: on both sides of the 100 us of the paper's rule."""
        return self.random.choice([3, 60, 95, 130, 400, 3000])

    def wait(self, call, begin, end, waking):
        self.add(begin, f"switch 0 client S idle {call}")
        self.add(end, waking)
        self.add(end + 6, "switch 0 idle R client")
        self.now = end + 10

    def request(self, how="", server="server", cpu=1, call="read"):
        begin, own = self.now, self.own()
        end = begin + own + self.random.randrange(200, 4000)
        self.add(begin, f"waking 0 client {server}{how}")
        self.add(begin + 5, f"switch {cpu} idle R {server}")
        self.wait(call, begin + 1 + own, end, f"waking {cpu} {server} client{how}")
        self.add(end + 8, f"switch {cpu} {server} S idle {call}")

    def pipe(self):
        self.request()

    def stream(self):
        """The server had read on another one, and turns to this one once."""
        if not self.has_turned:
            self.add(self.now + 7, "read server 1")
        self.has_turned = True
        self.request(" stream=1")

    def eventfd(self):
        """Both ends wait in epoll."""
        self.request(call="epoll_wait")

    def list_under_lock(self):
        """Of another process: the client that is answered waits for the lock, which the server frees next."""
        begin, own = self.now, self.own()
        end = begin + own + self.random.randrange(200, 4000)
        self.add(begin, "waking 0 client server")
        self.add(begin + 5, "switch 1 idle R server")
        self.wait("futex", begin + 1 + own, end, "waking 1 server client")
        self.add(end + 8, "switch 0 client S idle futex held=200")
        self.add(end + 12, "waking 1 server client")
        self.add(end + 18, "switch 0 idle R client")
        self.add(end + 20, "switch 1 server S idle futex")
        self.now = end + 30

    def hand_over(self):
        """To a thread of its own."""
        self.request("", "worker", 3, "futex")

    def ask(self, begin):
        self.sent += 100
        self.add(begin, f"waking 0 client server message s {self.sent}")
        self.add(begin, f"send client c {self.sent} 100")
        self.add(begin + 5, "switch 1 idle R server")
        self.add(begin + 7, f"recv server s {self.sent} 100")

    def answer(self, end):
        self.answered += 100
        self.add(end, f"send server s {self.answered} 100")
        self.add(end + 8, "switch 1 server S idle read")
        self.add(end + 7, f"recv client c {self.answered} 100")
        return f"waking 1 server client message c {self.answered}"

    def tcp(self):
        begin, own = self.now, self.own()
        end = begin + own + self.random.randrange(200, 4000)
        self.ask(begin)
        waking = self.answer(end)
        self.wait("recvfrom", begin + 1 + own, end, waking)

    def fork(self, does_execute=False):
        begin, own = self.now, self.own()
        end = begin + own + self.random.randrange(200, 4000)
        self.children += 1
        child = f"child{self.children}"
        self.threads.append(f"thread {child} {400 + self.children}")
        self.add(begin, f"fork client {child}")
        self.add(begin + 5, f"switch 1 idle R {child}")
        if does_execute:
            program = f"program{self.children}"
            self.threads.append(f"thread {program} {400 + self.children}")
            self.add(begin + 60, f"exec {child} {program}")
            child = program
        self.wait("wait4", begin + 1 + own, end, f"waking 1 {child} client")
        self.add(end + 8, f"switch 1 {child} X idle")

    def execute(self):
        self.fork(True)

    def chain(self):
        begin, own = self.now, self.own()
        over = begin + 200 + self.random.randrange(2000)
        back = over + 100 + self.random.randrange(3000)
        end = max(back, begin + own) + self.random.randrange(200, 2000)
        self.add(begin, "waking 0 client server")
        self.add(begin + 5, "switch 1 idle R server")
        self.add(over, "waking 1 server helper")
        self.add(over + 4, "switch 1 server S idle read")
        self.add(over + 5, "switch 2 idle R helper")
        self.add(back, "waking 2 helper server")
        self.add(back + 4, "switch 1 idle R server")
        self.add(back + 5, "switch 2 helper S idle read")
        self.wait("read", begin + 1 + own, end, "waking 1 server client")
        self.add(end + 8, "switch 1 server S idle read")

    def loop(self, is_tcp=True):
        at = self.now
        if is_tcp:
            self.ask(at)
        else:
            self.add(at, "waking 0 client server")
            self.add(at + 5, "switch 1 idle R server")
        at += 10 + self.own()
        for _ in range(self.random.randrange(1, 6)):
            self.add(at, "switch 0 client S idle epoll_wait")
            at += 1000
            self.add(at, "waking 0 idle client timer")
            self.add(at + 6, "switch 0 idle R client")
            at += 10 + self.own()
        end = at + self.random.randrange(20, 900)
        waking = self.answer(end) if is_tcp else "waking 1 server client"
        self.wait("epoll_wait", at, end, waking)
        if not is_tcp:
            self.add(end + 8, "switch 1 server S idle read")

    def loop_pipe(self):
        self.loop(False)

    def running(self, at):
        """By CPU, whoever is on it right after `at`."""
        on = {}
        for _, line in sorted((e for e in self.events if e[0] <= at), key=lambda e: e[0]):
            word = line.split()
            if word[0] == "switch":
                on[word[1]] = word[4]
        return {cpu: thread for cpu, thread in on.items() if thread != "idle"}

    def inject(self):
        """All that runs at some instant is off its CPU for a while; how long."""
        while True:
            at = self.random.randrange(30, self.now)
            on = self.running(at)
            if on and not any(e[0] == at for e in self.events):
                break
        length = self.random.randrange(120, 5000)
        self.events = [(t + length if t > at else t, line) for t, line in self.events]
        for cpu, thread in on.items():
            self.add(at, f"switch {cpu} {thread} R spin{cpu}")
            self.add(at + length, f"switch {cpu} spin{cpu} R {thread}")
        self.now += length
        return length

    def rows(self, program, folder):
        path = os.path.join(folder, "trace.txt")
        with open(path, "w", encoding="utf-8") as out:
            out.write("\n".join(self.threads + self.sockets) + "\n")
            out.writelines(f"{at} {line}\n" for at, line in sorted(self.events, key=lambda e: e[0]))
            out.write("--\n")
        told = subprocess.run([program, "--print", path], capture_output=True, text=True, check=False)
        rows = {}
        for line in told.stdout.splitlines():
            if line.startswith("["):
                name, _, us = line.rpartition(" ")
                rows[name] = int(us)
        if not rows:
            sys.exit(f"nothing came of {path}: {told.stdout}{told.stderr}")
        return rows


def is_waiting_for_cpu(name):
    return "sched:" in name


def main():
    program, seed, count = sys.argv[1], int((sys.argv + [0, "1"])[2] or 1), int((sys.argv + [0, 0, "60"])[3] or 60)
    with tempfile.TemporaryDirectory() as folder:
        for n in range(seed, seed + count):
            trace = Trace(n)
            before = trace.rows(program, folder)
            assert not any("path:" in row for row in before), (n, before)
            injected = sum(trace.inject() for _ in range(6))
            after = trace.rows(program, folder)
            for row in sorted(set(before) | set(after)):
                if not is_waiting_for_cpu(row) and before.get(row, 0) != after.get(row, 0):
                    sys.exit(f"seed {n}: {row}: {before.get(row, 0)} us, with preemption {after.get(row, 0)}")
            grown = sum(us for row, us in after.items() if is_waiting_for_cpu(row)) - sum(us for row, us in before.items() if is_waiting_for_cpu(row))
            assert grown == injected, (n, grown, injected)
    print(f"{count} programs, 6 preemptions each: nobody else's time has changed")


main()
