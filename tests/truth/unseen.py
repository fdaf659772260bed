#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many wakings the kernel does not tell of, and what the processor was doing then: unseen.py FACTS_DUMP [SECONDS].

A process pinned to each processor sleeps in poll() for 2 ms, again and again, until it times out. Each sleep ends by a timer, so
each has a waking, whose event is recorded by the live source; here those that are missing are counted. A *silent* thread is one that
processors are seen going to and never coming from: whatever happens on its processor while it runs is not told, to nobody.
Prints one JSON object.
"""
import collections, json, os, select, subprocess, sys, tempfile, time


def sleep_on(cpu, seconds):
    pid = os.fork()
    if pid:
        return pid
    os.sched_setaffinity(0, {cpu})
    never, _ = os.pipe()
    poll = select.poll()
    poll.register(never, select.POLLIN)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        poll.poll(2)
    os._exit(0)


def record(dump, seconds):
    """The switches and wakings in the order of time, and who slept."""
    with tempfile.TemporaryFile("w+") as out:
        with subprocess.Popen([dump], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE, text=True) as child:
            assert child.stderr.readline() == "ready\n"
            pids = [sleep_on(cpu, seconds) for cpu in os.sched_getaffinity(0)]
            for pid in pids:
                os.waitpid(pid, 0)
            child.stdin.close()
            child.stderr.read()
        out.seek(0)
        facts = [fact for fact in map(json.loads, out) if fact["kind"] in ("switch", "waking", "drop")]
    assert not any(fact["kind"] == "drop" for fact in facts), "events were dropped: no use"
    return sorted(facts, key=lambda fact: fact["t"]), set(pids)


def silent_threads(facts):
    went, came = collections.Counter(), collections.Counter()
    for fact in facts:
        if fact["kind"] == "switch":
            went[fact["other_tid"]] += 1
            came[fact["tid"]] += 1
    return {tid for tid, count in went.items() if count > 2 and not came[tid]}


def count(facts, pids):
    silent = silent_threads(facts)
    now, asleep = {}, {}  # cpu -> (thread it went to, when); sleeper -> [since, woken, spans in which a processor was silent]
    silences, said = [], collections.Counter()
    for fact in facts:
        cpu, at = fact["cpu"], fact["t"]
        if fact["kind"] == "waking":
            if fact["other_tid"] in asleep:
                asleep[fact["other_tid"]][1] = True
            continue
        before, since = now.get(cpu, (fact["tid"], at))
        if before in silent:
            silences.append((since, at))
        if before != fact["tid"]:
            said["broken chains"] += 1
            said["broken chains, silent thread"] += before in silent
        now[cpu] = (fact["other_tid"], at)
        if fact["tid"] in pids and fact["d"] == 8 and fact["c"] == 1:  # in poll(), interruptible
            asleep[fact["tid"]] = [at, False]
        if fact["other_tid"] in asleep:
            out, woken = asleep.pop(fact["other_tid"])
            said["sleeps"] += 1
            if not woken:
                said["waking not seen"] += 1
                said["waking not seen, silent thread"] += any(begin <= at and end >= out for begin, end in silences[-64:])
    length = sum(end - begin for begin, end in silences)
    span = (facts[-1]["t"] - facts[0]["t"]) * len(now)
    names = ("sleeps", "waking not seen", "waking not seen, silent thread", "broken chains", "broken chains, silent thread")
    return {**{name: said[name] for name in names}, "silent threads": len(silent), "silent percent of the time": round(100 * length / span, 3)}


if __name__ == "__main__":
    print(json.dumps(count(*record(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10))))
