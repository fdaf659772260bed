#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Blame is continuous in what an event loop works at each tick.

loop_sweep.py SCENARIO_RUN

A client asks a server three times, over TCP or a pipe, which takes 300 ms each time, and waits in epoll with a timer. At each tick it works W, and
while it works others have its CPU for as much again, times a load. The answer finds it asleep or at work. Whatever W and the load: all
that it is asleep between request and answer is the server's, by construction and in the report. Of a pipe the server has answered before.
"""
import os
import subprocess
import sys
import tempfile

ROUNDS, SERVICE, WAKE = 3, 300_000, 4  # us


class Loop:
    def __init__(self, tick, work, load, is_tcp):
        self.tick, self.work, self.load, self.is_tcp = tick, work, load, is_tcp
        self.events, self.asleep, self.awake_answers = [], 0, 0

    def add(self, at, line):
        self.events.append((at, line))

    def run(self, at):
        """The client works from `at`: preempted in the middle, should there be others; when it is done."""
        if not self.load or self.work < 2:
            return at + self.work
        middle, back = at + self.work // 2, at + self.work // 2 + self.work * self.load
        self.add(middle, "switch 0 client R other")
        self.add(back, "switch 0 other R client")
        return back + self.work - self.work // 2

    def sleep(self, at, answer, end):
        """It sleeps from `at` to the tick or the answer; when it runs again, and whether that was the answer."""
        until, is_answer = min((at + self.tick, False), (answer, True))
        self.add(at, "switch 0 client S idle epoll_wait")
        message = f" message c {end}" if self.is_tcp else ""
        self.add(until, f"waking 1 server client{message}" if is_answer else "waking 0 idle client timer")
        self.add(until + WAKE, "switch 0 idle R client")
        self.asleep += until - at
        return until + WAKE, is_answer

    def transfer(self, at, what):
        if self.is_tcp:
            self.add(at, what)

    def answered_once(self, at):
        """The first request of all, whose answer finds it asleep."""
        self.add(at, "waking 0 client server")
        self.add(at + 5, "switch 1 idle R server")
        self.add(at + 10, "switch 0 client S idle read")
        self.add(at + 90, "waking 1 server client")
        self.add(at + 90 + WAKE, "switch 0 idle R client")
        self.add(at + 110, "switch 1 server S idle read")
        self.asleep += 80
        return at + 150

    def round(self, at, number):
        end = 100 * (number + 1)
        self.add(at, "waking 0 client server" + (f" message s {end}" if self.is_tcp else ""))
        self.transfer(at, f"send client c {end} 100")
        self.add(at + 5, "switch 1 idle R server")
        self.transfer(at + 6, f"recv server s {end} 100")
        self.add(at + 10, "switch 1 server S idle nanosleep deliberate")
        answer = at + SERVICE
        self.add(answer - 20, "waking 1 idle server timer")
        self.add(answer - 15, "switch 1 idle R server")
        self.transfer(answer, f"send server s {end} 100")
        self.add(answer + 20, "switch 1 server S idle read")
        at, is_answered = at + 1, False
        while not is_answered and at < answer:
            at, is_answered = self.sleep(at, answer, end)
            at = at if is_answered else self.run(at)
        self.awake_answers += not is_answered
        at = max(at, answer + 1)
        self.transfer(at, f"recv client c {end} 100")
        return at + 50

    def text(self):
        self.add(0, "switch 1 idle R server")
        self.add(5, "switch 1 server S idle read")
        self.add(10, "switch 0 idle R client")
        at = 100 if self.is_tcp else self.answered_once(100)
        for number in range(ROUNDS):
            at = self.round(at, number)
        self.add(at, "switch 0 client X idle")
        head = ["thread client 100 base", "thread server 200", "thread other 300",
                "socket c 127.0.0.1:40000 127.0.0.1:80", "socket s 127.0.0.1:80 127.0.0.1:40000"]
        return "\n".join(head + [f"{when} {line}" for when, line in sorted(self.events, key=lambda e: e[0])]) + "\n--\n"


def of_server(program, path):
    told = subprocess.run([program, "--print", path], capture_output=True, text=True, check=False).stdout
    rows = [line.rpartition(" ") for line in told.splitlines() if line.startswith("[client]")]
    if not rows:
        sys.exit(f"nothing came of {path}: {told}")
    return sum(int(us) for name, _, us in rows if "[server]" in name)


def main():
    works = [0, 10, 50, 90, 99, 101, 110, 150, 300, 499, 501, 1000, 2000, 3000, 4999, 5001, 7000, 10000, 20000, 50000]
    asleep_answers = awake_answers = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.txt")
        cases = [(tick, load, work, True) for tick in (5000, 50000) for load in (0, 1, 4, 20) for work in works]
        cases += [(5000, load, work, False) for load in (0, 4) for work in works]
        for tick, load, work, is_tcp in cases:
            loop = Loop(tick, work, load, is_tcp)
            with open(path, "w", encoding="utf-8") as out:
                out.write(loop.text())
            got = of_server(sys.argv[1], path)
            if abs(got - loop.asleep) > 2 * ROUNDS:
                sys.exit(f"{'TCP' if is_tcp else 'pipe'}, tick {tick} us, work {work} us, load {load}: {got} of {loop.asleep} us are the server's")
            awake_answers += loop.awake_answers
            asleep_answers += ROUNDS - loop.awake_answers
    assert asleep_answers and awake_answers
    print(f"all that the client slept is the server's; {asleep_answers} answers found it asleep, {awake_answers} at work")


main()
