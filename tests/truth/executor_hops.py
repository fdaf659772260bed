#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A request that hops from a loop of asyncio to a thread and back (run_in_executor, to_thread): what the report has of the client's wait on that thread,
behind the server, against what the thread wrote down of itself. Prints the hops that are right, in percent of the thread's time; below `--least` it
fails. With `--others` further clients ask the same loop meanwhile."""
import argparse
import asyncio
import concurrent.futures
import json
import os
import socket
import subprocess
import sys
import tempfile
import time


def call_thread(name):
    with open("/proc/thread-self/comm", "w", encoding="ascii") as file:
        file.write(name)


def now():
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        return time.monotonic_ns(), int(file.read().split()[1])


def settle_account(done, client):
    """[client, computing, asleep, of both without a CPU]"""
    since = now()
    while time.monotonic_ns() < since[0] + 3000000:
        pass
    middle = time.monotonic_ns()
    time.sleep(0.006)
    until = now()
    done.append((client, middle - since[0], until[0] - middle, until[1] - since[1]))


async def serve(listener, way, pool, over):
    loop, done = asyncio.get_running_loop(), []
    loop.set_default_executor(pool)

    async def answer(reader, writer):
        while line := await reader.readline():
            if way == "executor":
                await loop.run_in_executor(pool, settle_account, done, int(line))
            else:
                await asyncio.to_thread(settle_account, done, int(line))
            writer.write(b"settled\n")
        writer.close()

    async with await asyncio.start_server(answer, sock=listener):
        await loop.run_in_executor(concurrent.futures.ThreadPoolExecutor(1), os.read, over, 1)
    return done


def buy(port, client, count):
    with socket.create_connection(("127.0.0.1", port)) as server:
        for number in range(count):
            server.sendall(b"%d\n" % client)
            server.recv(100)
            time.sleep(0.002 + 0.001 * (number % 3))


def start(work):
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return child


def program(truth, way, others, count):
    listener, (over, end) = socket.create_server(("127.0.0.1", 0)), os.pipe()
    port = listener.getsockname()[1]

    def shop():
        call_thread("shop")
        pool = concurrent.futures.ThreadPoolExecutor(2, initializer=call_thread, initargs=("desk",))
        with open(truth, "w", encoding="ascii") as file:
            json.dump(asyncio.run(serve(listener, way, pool, over)), file)

    server = start(shop)
    listener.close()
    children = [start(lambda client=client: (call_thread("other"), buy(port, client, count))) for client in range(1, others + 1)]
    call_thread("client")
    buy(port, 0, count)
    call_thread("python3")
    for child in children:
        os.waitpid(child, 0)
    os.write(end, b"x")
    os.waitpid(server, 0)


def found(folded):
    """Nanoseconds of the client's wait by its chain of processes."""
    sums = {}
    for line in folded.splitlines():
        stack, ns = line.rsplit(" ", 1)
        chain = ";".join(frame.split(" › ")[-1].strip("[]") for frame in stack.split(";") if frame[0] == "[")
        sums[chain] = sums.get(chain, 0) + int(ns)
    return sums


def record(options, folder):
    wakepath, truth = os.path.join(os.environ["WAKEPATH_BIN"], "wakepath"), os.path.join(folder, "truth")
    subprocess.run([*options.before.split(), wakepath, "record", "--quiet", "--out", os.path.join(folder, "out"), "--release", "truth", "--aggregate",
                    "truth=comm=client", "--", *options.before.split(), sys.executable, os.path.abspath(__file__), "--program", truth, "--way", options.way,
                    "--others", str(options.others), "--requests", str(options.requests)], check=True)
    subprocess.run([wakepath, "report", "--store", os.path.join(folder, "out", "store"), "--release", "truth", "--aggregate", "truth", "--format",
                    "folded", "--out", os.path.join(folder, "folded")], check=True)
    with open(truth, encoding="ascii") as file, open(os.path.join(folder, "folded"), encoding="utf-8") as folded:
        return json.load(file), found(folded.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=("executor", "to_thread"), default="executor")
    parser.add_argument("--others", type=int, default=0)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--before", default="", help="what everything is run by, as 'chrt --rr 1'")
    options = parser.parse_args()
    if options.program:
        program(options.program, options.way, options.others, options.requests)
        return 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        done, sums = record(options, folder)
    known = sum(ran + slept for client, ran, slept, _ in done if not client)
    told = sum(ns for chain, ns in sums.items() if chain.startswith("client;shop;desk"))
    percent = 100 * min(1, told / known)
    print(f"  {options.way}, {options.others} others: on the thread {known / 1e6:.2f} ms, the report says {told / 1e6:.2f}: {percent:.2f} % of hops are right; "
          + ", ".join(f"{chain} {ns / 1e6:.2f}" for chain, ns in sorted(sums.items(), key=lambda row: -row[1])[:6]), flush=True)
    return 0 if percent >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
