#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""walks.py BIN [--runs N] [--depth N]: what reading an interpreter's frames adds to a sleep of a Python program 20 functions deep, as JSON.
The program (this file with --sleeper) hands over to a partner on the same processor by two pipes; its thread's processor time is counted without a collector, with
`--interpreters none` and with `auto`, by turns: `walk_ns` is the difference of the last two. `same`: all sleeps have one stack. `varied`: hardly
two have (which of two functions calls which, 2^20 ways). `callback`, `task`: as `same`, in a function that asyncio's event loop calls, and in a
coroutine that is a task; each has some frames more. Medians of 60 stretches of 500 sleeps each, the least of N runs. At real-time priority,
so that other programs disturb little; as root."""
import argparse, asyncio, json, os, sys, tempfile, time
from importlib.machinery import SourceFileLoader

STRETCHES, SLEEPS = 60, 500
KINDS = ("same", "varied", "callback", "task")


def sleeper(depth, kind):
    """Nanoseconds of processor time a sleep, the median of the stretches."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))}) # an idle processor's wake-up costs more than a walk
    ours, theirs = os.pipe(), os.pipe()
    partner = os.fork()
    if not partner:
        os.close(theirs[1])
        while os.read(theirs[0], 1):
            os.write(ours[1], b"x")
        os._exit(0)
    os.close(theirs[0])

    def left(n, way):
        return (left if way & 1 else right)(n - 1, way >> 1) if n else wait()

    def right(n, way):
        return (left if way & 1 else right)(n - 1, way >> 1) if n else wait()

    def wait():
        os.write(theirs[1], b"x")
        return os.read(ours[0], 1)

    taken = []

    def stretches():
        state = 1
        for _ in range(STRETCHES):
            begun = time.thread_time_ns()
            for _ in range(SLEEPS):
                state = (state * 1103515245 + 12345) % (1 << 31) # of the C standard's example; its upper bits vary
                left(depth - 2, state >> 8 if kind == "varied" else 0)
            taken.append((time.thread_time_ns() - begun) / SLEEPS)

    async def loop():
        if kind == "task":
            stretches()
        else:
            asyncio.get_running_loop().call_soon(stretches)
            await asyncio.sleep(0)

    if kind in ("callback", "task"):
        asyncio.run(loop())
    else:
        stretches()
    os.close(theirs[1])
    os.waitpid(partner, 0)
    return sorted(taken)[len(taken) // 2]


def one(measure, bench, way, kind, depth):
    collector = way and bench.start_collector("--interpreters", way, "--frequency", "0", "--output", bench.path("capture"))
    try:
        if collector:
            measure.run("chrt", "-a", "-f", "-p", "20", str(collector.pid)) # else a busy machine lets buffers fill, which costs more
        return float(measure.run("chrt", "-f", "10", sys.executable, os.path.abspath(__file__), "--sleeper", kind, "--depth", str(depth)))
    finally:
        if collector:
            bench.end_collector(collector)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", nargs="?")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--sleeper", choices=KINDS)
    options = parser.parse_args()
    if options.sleeper:
        print(sleeper(options.depth, options.sleeper))
        return
    if not options.bin:
        parser.error("the folder of the programs is missing")
    measure = SourceFileLoader("measure", os.path.join(os.path.dirname(os.path.abspath(__file__)), "measure.py")).load_module()
    results = {kind: {way: [] for way in ("", "none", "auto")} for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        bench = measure.Bench(options.bin, folder, 1, 0)
        for _ in range(options.runs):
            for kind, ways in results.items():
                for way, taken in ways.items():
                    taken.append(one(measure, bench, way, kind, options.depth))
    said = {kind: {way or "untraced": round(min(taken)) for way, taken in ways.items()} for kind, ways in results.items()}
    print(json.dumps({"python": sys.version.split()[0], "depth": options.depth,
                      **{kind: {**ways, "walk_ns": ways["auto"] - ways["none"]} for kind, ways in said.items()}}, indent=1))


if __name__ == "__main__":
    main()
