#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client waits for what its server does for it, and in a queue for what that does for others, however the machine schedules them.

machine_law.py SCENARIO_RUN [SEED [TRACES]]

A machine of two processors runs a server and its helper, a client, others who ask the same server, and threads that compute or come now and
then. Who
is woken may take the processor of who runs, in the middle of a call as well; who has had its turn loses it to who waits. The events are those
that the collector would record; whose the server's time was follows from what it did. The report has the same, over unix streams, pipes and
TCP, on an idle machine and on a busy one.
"""
import heapq
import os
import random
import subprocess
import sys
import tempfile
from collections import deque

# Bounds that hold for any seed, but for pipes with one other and four that compute: one case in 70 has 1 to 5 % there, all together have 0.1 %:
# an answer that finds the other one awake leaves no event.
# transport, others, threads that compute, percent that may stand elsewhere, what the client works at each tick where it waits in a loop, us
WAYS = [("unix", 1, 0, 0.2, 0), ("unix", 1, 4, 0.1, 0), ("unix", 3, 2, 0.1, 0), ("pipe", 1, 0, 0.5, 0), ("pipe", 1, 4, 0.5, 0), ("tcp", 1, 0, 0.01, 0),
        ("tcp", 1, 4, 0.01, 0), ("unix", 0, 3, 0.1, 0), ("pipe", 0, 4, 0.01, 0), ("tcp", 0, 3, 0.01, 0), ("tcp", 3, 0, 0.01, 500), ("tcp", 1, 4, 0.01, 20),
        ("unix", 3, 0, 0.1, 20)]
# Loops over pipes: a request that finds the server at work leaves no event, and an answer that finds the client at work none, either. What is
# wrong has to be called uncertain, but for so many percent.
UNSEEN = [("pipe", 0, 0, 0.01, 20), ("pipe", 0, 4, 0.5, 500), ("pipe", 1, 0, 0.5, 500), ("pipe", 1, 4, 4, 1000), ("pipe", 3, 0, 0.5, 500), ("pipe", 3, 0, 2, 20)]
UNSURE = 0.75  # at most that much of it: who calls everything uncertain is never wrong
NEVER = 10 ** 9


class Thread:
    """Its generator yields what it does next; `then` is what follows once it has had `need` us on a processor."""

    def __init__(self, name, tid):
        self.name, self.tid, self.program, self.state, self.call = name, tid, None, "new", None
        self.cpu, self.need, self.then, self.plan, self.since, self.began = 0, 0, None, 0, 0, 0
        self.spans = []  # (from, to, state)
        self.turned, self.unheard = 0, None  # the stream that it last read on; what it wrote to whom was awake
        self.place = {"server": "serve", "helper": "help"}.get(name, "ask")
        self.timer = 0  # how often it slept with a timeout
        self.asked_by, self.ready, self.reads = [], [], None  # of a server: (since, client); streams in its epoll; which it waits for

    def become(self, now, state):
        if self.state != "new":
            self.spans.append((self.since, now, self.state))
        self.since, self.state = now, state


class Stream:
    def __init__(self, number, client, server):
        self.number, self.client, self.server = number, client, server
        self.waiting, self.sent = {client: 0, server: 0}, {client: 0, server: 1000}

    def peer(self, thread):
        return self.server if thread is self.client else self.client

    def end(self, thread):
        return f"{'c' if thread is self.client else 's'}{self.number}"


class Machine:
    def __init__(self, seed, transport):
        self.random, self.transport, self.now, self.heap, self.count = random.Random(seed), transport, 0, [], 0
        self.on, self.stamp, self.woke, self.queue, self.events, self.threads = [None, None], [0, 0], [-1, -1], deque(), [], []

    def at(self, when, act, *args):
        self.count += 1
        heapq.heappush(self.heap, (when, self.count, act, args))

    def tell(self, line):
        self.events.append(f"{self.now} {line}")

    # the scheduler

    def switch(self, cpu, before="idle R", call=""):
        """To who has waited longest."""
        thread = self.queue.popleft() if self.queue else None
        who, state = before.split()
        self.tell(f"switch {cpu} {who} {state} {thread.name if thread else 'idle'}{call}")
        self.on[cpu] = thread
        self.stamp[cpu] += 1
        if thread:
            thread.become(self.now, "running")
            thread.cpu = cpu
            self.go_on(thread)
            self.at(self.now + self.random.randrange(700, 4000), self.tick, cpu, self.stamp[cpu])

    def tick(self, cpu, stamp):
        if self.stamp[cpu] == stamp and self.on[cpu]:
            self.preempt(cpu, self.on[cpu])
            if self.stamp[cpu] == stamp:
                self.at(self.now + self.random.randrange(700, 4000), self.tick, cpu, stamp)

    def preempt(self, cpu, thread, by=None):
        if self.on[cpu] is not thread or not self.queue:
            return
        if self.woke[cpu] == self.now:
            self.at(self.now + 1, self.preempt, cpu, thread, by)
            return
        thread.need -= self.now - thread.began
        thread.plan += 1
        if by in self.queue:
            self.queue.remove(by)
            self.queue.appendleft(by)
        thread.become(self.now, "runnable")
        self.queue.append(thread)
        self.switch(cpu, f"{thread.name} R", f" {thread.call} stack={thread.place};{thread.call}" if thread.call else "")

    def wake(self, thread, cpu, by, how=""):
        self.tell(f"waking {cpu} {by} {thread.name}{how}")
        self.woke[cpu] = self.now
        thread.become(self.now, "runnable")
        self.queue.append(thread)
        idle = [free for free in range(len(self.on)) if not self.on[free]]
        if idle:
            self.at(self.now + self.random.choice([3, 5, 9, 30]), self.start, thread.cpu if thread.cpu in idle else idle[0])
        elif self.random.random() < 0.6:
            there = cpu if self.random.random() < 0.5 else self.random.randrange(len(self.on))
            self.at(self.now + 1, self.preempt, there, self.on[there], thread)

    def start(self, cpu):
        if not self.on[cpu] and self.queue:
            self.switch(cpu)

    def sleep(self, thread, call, how=""):
        thread.become(self.now, "asleep")
        thread.call, thread.unheard = call, None
        self.switch(thread.cpu, f"{thread.name} S", f" {call} stack={thread.place};{call}{how}")

    # what threads do

    def begin(self, thread):
        thread.then = lambda: self.following(thread)
        self.queue.append(thread)
        for cpu in range(len(self.on)):
            self.start(cpu)

    def go_on(self, thread):
        thread.began = self.now
        thread.plan += 1
        self.at(self.now + thread.need, self.done, thread, thread.plan)

    def work(self, thread, us, then, call):
        thread.need, thread.then, thread.call = us, then, call
        self.go_on(thread)

    def done(self, thread, plan):
        if self.on[thread.cpu] is thread and thread.plan == plan:
            thread.need = 0
            thread.then()

    def following(self, thread, value=None):
        thread.call = None
        try:
            what, *args = thread.program.send(value)
        except StopIteration:
            thread.become(self.now, "dead")
            self.switch(thread.cpu, f"{thread.name} X")
            return
        getattr(self, "do_" + what)(thread, *args)

    def do_compute(self, thread, us):
        self.work(thread, us, lambda: self.following(thread), None)

    def do_nap(self, thread, us):
        def fall_asleep():
            thread.need, thread.then = 2, lambda: self.following(thread)
            self.at(self.now + us, self.timer, thread)
            self.sleep(thread, "nanosleep", " deliberate")
        self.work(thread, 1, fall_asleep, "nanosleep")

    def timer(self, thread):
        cpu = self.random.randrange(len(self.on))
        self.wake(thread, cpu, self.on[cpu].name if self.on[cpu] else "idle", " timer")

    def reading(self):
        return "recvfrom" if self.transport == "tcp" else "read"

    def do_write(self, thread, stream):
        def write():
            peer = stream.peer(thread)
            stream.waiting[peer] += 1
            stream.sent[thread] += 100
            end = stream.sent[thread]
            if stream not in peer.ready:
                peer.ready.append(stream)
            how = {"unix": f" stream={stream.number}", "pipe": "", "tcp": f" message {stream.end(peer)} {end}"}[self.transport]
            if self.transport == "tcp":
                self.tell(f"arrive {stream.end(peer)} {end} 100")
            thread.unheard = (stream, self.now)
            self.work(thread, self.random.choice([2, 3, 8]), lambda: returned(end), "write")
            if peer.state == "asleep" and (peer.call == "epoll_wait" if peer is stream.server else peer.reads is stream):
                thread.unheard = None
                self.wake(peer, thread.cpu, thread.name, how)

        def returned(end):
            if self.transport == "tcp":
                self.tell(f"send {thread.name} {stream.end(thread)} {end} 100")
            if thread is stream.server:
                thread.asked_by.append((self.now, None))
            self.following(thread)
        self.work(thread, 2, write, "write")

    def note_read(self, thread, stream):
        if self.transport == "tcp":
            self.tell(f"recv {thread.name} {stream.end(thread)} {stream.sent[stream.peer(thread)]} 100")
        if self.transport != "unix" or thread.turned == stream.number:
            return
        if thread.unheard:
            self.tell(f"wrote {thread.name} {thread.unheard[0].number} {self.now - thread.unheard[1]}")
        thread.turned, thread.unheard = stream.number, None
        self.tell(f"read {thread.name} {stream.number}")

    def do_read(self, thread, stream):
        """Who reads on a unix stream makes room, which wakes the other end where that waits for its answer."""
        def look():
            peer = stream.peer(thread)
            if not stream.waiting[thread]:
                thread.need, thread.then, thread.reads = 2, look, stream
                self.sleep(thread, self.reading(), " on=unix" if self.transport == "unix" else "")
                return
            stream.waiting[thread] -= 1
            thread.reads = None
            self.work(thread, 1, finish, self.reading())
            if self.transport == "unix" and peer.state == "asleep" and peer.reads is stream and peer.call != "epoll_wait":
                self.wake(peer, thread.cpu, thread.name)

        def finish():
            self.note_read(thread, stream)
            if thread is stream.server:
                thread.asked_by.append((self.now, stream.client))
            self.following(thread)
        self.work(thread, 1, look, self.reading())

    def do_await(self, thread, stream, us):
        """In epoll until there is something to read, or the timeout is over; whether there is."""
        def look():
            if stream.waiting[thread]:
                self.following(thread, True)
                return
            thread.need, thread.then, thread.reads, thread.timer = 2, late, stream, thread.timer + 1
            self.at(self.now + us, self.expire, thread, thread.timer)
            if self.transport == "unix" and thread.unheard:
                self.tell(f"wrote {thread.name} {thread.unheard[0].number} {self.now - thread.unheard[1]}")
            self.sleep(thread, "epoll_wait", f" timeout={us}")

        def late():
            thread.reads = None
            self.following(thread, bool(stream.waiting[thread]))
        self.work(thread, 1, look, "epoll_wait")

    def expire(self, thread, timer):
        if thread.state == "asleep" and thread.timer == timer:
            self.timer(thread)

    def do_choose(self, thread):
        def look():
            while thread.ready:
                stream = thread.ready.pop(0)
                if stream.waiting[thread]:
                    thread.ready.append(stream)
                    self.following(thread, stream)
                    return
            thread.need, thread.then = 2, look
            self.sleep(thread, "epoll_wait")
        self.work(thread, 1, look, "epoll_wait")

    def run(self, base):
        """A while longer than the base lives: a call may return later."""
        until = NEVER
        while self.heap and self.now < until:
            self.now, _, act, args = heapq.heappop(self.heap)
            act(*args)
            if base.state == "dead":
                until = min(until, base.since + 30000)


class Case:
    def __init__(self, seed, transport, others, spinners, tick, turns=8):
        self.machine, self.seed = Machine(seed, transport), seed
        self.server, self.helper, self.clients = self.thread("server", 200), self.thread("helper", 300), []
        self.server.program, self.helper.program = self.serve(Stream(9, self.server, self.helper)), self.help()
        for i in range(others + 1):
            client = self.thread(f"other{i}" if i else "client", 100 + i)
            stream = Stream(i + 1, client, self.server)
            client.program = self.ask_in_loop(stream, turns, tick) if tick and not i else self.ask(stream, NEVER if i else turns)
            self.clients.append(client)
        for i in range(spinners):
            self.thread(f"spinner{i}", 900 + i).program = iter_compute()
        for i in range(2):
            self.thread(f"visitor{i}", 800 + i).program = self.visit()
        for i, thread in enumerate(self.machine.threads):
            self.machine.at(900 if thread is self.clients[0] else 20 * i, self.machine.begin, thread)
        self.machine.run(self.clients[0])

    def thread(self, name, tid):
        self.machine.threads.append(Thread(name, tid))
        return self.machine.threads[-1]

    def about(self, us):
        return int(us * self.machine.random.uniform(0.7, 1.3))

    def help(self):
        while True:
            stream = yield ("choose",)
            yield ("read", stream)
            yield ("compute", self.about(200))
            yield ("write", stream)

    def serve(self, helper):
        while True:
            stream = yield ("choose",)
            yield ("read", stream)
            yield ("compute", self.about(500))
            if self.machine.random.random() < 0.5:
                yield ("write", helper)
                yield ("read", helper)
            else:
                yield ("nap", self.about(500))
            yield ("compute", self.about(self.machine.random.choice([1, 400])))
            yield ("write", stream)

    def ask_in_loop(self, stream, turns, tick):
        for _ in range(turns):
            yield ("compute", self.about(200))
            yield ("write", stream)
            while not (yield ("await", stream, 1000)):
                yield ("compute", self.about(tick))
            yield ("read", stream)

    def ask(self, stream, turns):
        for _ in range(turns):
            yield ("compute", self.about(200))
            yield ("write", stream)
            yield ("compute", self.machine.random.choice([1, 1, 1, 30, 90, 400]))
            yield ("read", stream)

    def visit(self):
        while True:
            yield ("nap", self.machine.random.randrange(100, 3000))
            yield ("compute", self.machine.random.randrange(5, 300))

    def truth(self):
        """Up to the end of the call that answers, the server's time is his who was read last; then his who is read next."""
        client, marks = self.clients[0], self.server.asked_by + [(NEVER, None)]
        known, begin, owner = {"self": 0, "sched": 0, "server": 0, "queue": 0}, 0, None
        for when, who in marks:
            if who:
                owner = who
                continue
            for start, end, state in client.spans:
                if state == "asleep":
                    known["server" if owner is client else "queue"] += max(0, min(end, when) - max(start, begin))
            begin = when
        for start, end, state in client.spans:
            known["self"] += end - start if state == "running" else 0
            known["sched"] += end - start if state == "runnable" else 0
        return known

    def text(self):
        head = [f"thread {t.name} {t.tid}{' base' if t.name == 'client' else ''}" for t in self.machine.threads]
        for n in range(1, 10):
            head += [f"socket c{n} 127.0.0.1:{40000 + n} 127.0.0.1:80", f"socket s{n} 127.0.0.1:80 127.0.0.1:{40000 + n}"]
        return "\n".join(head + self.machine.events) + "\n--\n"


def iter_compute():
    while True:
        yield ("compute", 100000)


def place(row):
    if "path:" in row:
        return "queue"
    if "[server]" in row.partition("sched:")[0]:  # what follows says behind whom it was
        return "server"
    return "sched" if "sched:" in row else "elsewhere" if "sleep:" in row else "self"


def told(program, case, folder):
    path = os.path.join(folder, "trace.txt")
    with open(path, "w", encoding="utf-8") as out:
        out.write(case.text())
    answer = subprocess.run([program, "--print", path], capture_output=True, text=True, check=False)
    found, uncertain = {}, 0
    for line in answer.stdout.splitlines():
        if line.startswith("uncertain"):
            uncertain = float(line.split()[1])  # as %g
        if line.startswith("[client]"):
            us = int(line.rpartition(" ")[2])
            found[place(line)] = found.get(place(line), 0) + us
    if not found:
        sys.exit(f"nothing came of {path}: {answer.stdout}{answer.stderr}")
    return found, uncertain


def hold(way, program, cases, may_be_uncertain, folder):
    transport, others, spinners, bound, tick = way
    wrong, total, unsure, worst = 0, 0, 0, (0, "")
    for case in cases:
        known, (found, uncertain) = case.truth(), told(program, case, folder)
        missing = sum(max(0, us - found.get(where, 0)) for where, us in known.items())
        missing = max(0, missing - uncertain) if may_be_uncertain else missing
        wrong, total, unsure = wrong + missing, total + sum(known.values()), unsure + uncertain
        worst = max(worst, (missing, f"seed {case.seed}: {known}, in the report {found}, uncertain {uncertain}"))
    text = f"{transport}{f', a loop that works {tick} us' if tick else ''}, {others} others, {spinners} that compute: {wrong:.0f} of {total} us elsewhere, {100 * wrong / total:.3f} %"
    print(text + (f" beyond what is uncertain, {100 * unsure / total:.1f} %" if may_be_uncertain else ""), flush=True)
    if wrong * 100 > bound * total:
        sys.exit(f"at most {bound} %; {worst[1]}")
    if may_be_uncertain and unsure > UNSURE * total:
        sys.exit(f"more than {100 * UNSURE:.0f} % are called uncertain")


def main():
    program, seed, count = sys.argv[1], int((sys.argv + [0, "1"])[2] or 1), int((sys.argv + [0, 0, "10"])[3] or 10)
    with tempfile.TemporaryDirectory() as folder:
        for way in WAYS:
            hold(way, program, [Case(n, way[0], *way[1:3], way[4]) for n in range(seed, seed + count)], False, folder)
        for way in UNSEEN:
            hold(way, program, [Case(n, way[0], *way[1:3], way[4], 25) for n in range(seed, seed + (count + 2) // 3)], True, folder)


main()
