#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""loop_hops.py [--way node|asyncio|go|tokio] [--others N] [--stock N]: what is said of a client's requests to a server that serves others meanwhile.

For each request the server asks a second one, over a few TCP connections (--stock), which sleeps 6 ms, and then works 3 ms. Both write down what they did for
that client. The report has to have the same behind it, and what the server does for others as another path. Prints what the report has beyond either, and
both of these, whatever their sign, in percent of the client's time: more than `--bound` fails."""
import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from importlib.machinery import SourceFileLoader

HERE = os.path.dirname(os.path.abspath(__file__))
EXECUTOR = SourceFileLoader("executor_hops", os.path.join(HERE, "executor_hops.py")).load_module()
TOKIO = SourceFileLoader("tokio_program", os.path.join(HERE, "tokio_program.py")).load_module()


def write(path, number):
    """At once, for who waits for it."""
    with open(path + ".part", "w", encoding="ascii") as file:
        file.write(str(number))
    os.rename(path + ".part", path)


def stock(listener, truth):
    """Sleeps for whoever asks; writes down how long for client 0, when it is told to end."""
    EXECUTOR.call_thread("stock")
    slept, lock = [0], threading.Lock()

    def end(*_):
        write(truth, slept[0])
        os._exit(0)

    signal.signal(signal.SIGTERM, end)

    def answer(connection):
        EXECUTOR.call_thread("stock")
        while line := connection.recv(100):
            began = time.monotonic_ns()
            time.sleep(0.006)
            if line == b"0\n":
                with lock:
                    slept[0] += time.monotonic_ns() - began
            connection.sendall(b"there\n")

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def price_order():
    began = time.monotonic_ns()
    while time.monotonic_ns() - began < 3000000:
        pass
    return time.monotonic_ns() - began


async def shop(address, stock_address, connections, truth):
    """The server of asyncio, as programs/hops.go and hops.js."""
    free = asyncio.Queue()
    for _ in connections:
        free.put_nowait(await asyncio.open_connection(*stock_address.split(":")))

    async def serve(reader, writer):
        own = 0
        while line := await reader.readline():
            connection = await free.get()
            connection[1].write(line)
            await connection[0].readline()
            free.put_nowait(connection)
            took = price_order()
            own += took if line == b"0\n" else 0
            writer.write(b"ok\n")
        if own:
            write(truth, own)
        writer.close()

    async with await asyncio.start_server(serve, *address.split(":")) as server:
        await server.serve_forever()


def command_of(way, folder):
    if way == "tokio":
        return [TOKIO.build("shop", folder)]
    if way == "go":
        program = os.path.join(folder, "shop")
        subprocess.run(["go", "build", "-o", program, os.path.join(HERE, "programs", "hops.go")], check=True, env=dict(os.environ, GO111MODULE="off"))
        return [program]
    return ["node", os.path.join(HERE, "programs", "hops.js")] if way == "node" else [sys.executable, os.path.abspath(__file__), "--shop"]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def program(options, command, folder):
    """All processes, under the recorder."""
    listener, port = socket.create_server(("127.0.0.1", 0)), free_port()
    store = EXECUTOR.start(lambda: stock(listener, os.path.join(folder, "stock")))
    address, stock_address = f"127.0.0.1:{port}", "127.0.0.1:%d" % listener.getsockname()[1]
    server = subprocess.Popen([*command, address, stock_address, "x" * options.stock, os.path.join(folder, "own")])
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.05)
    time.sleep(0.3)
    others = [EXECUTOR.start(lambda client=client: (EXECUTOR.call_thread("other"), EXECUTOR.buy(port, client, options.requests)))
              for client in range(1, options.others + 1)]
    EXECUTOR.call_thread("client")
    EXECUTOR.buy(port, 0, options.requests)
    EXECUTOR.call_thread("python3")
    for other in others:
        os.waitpid(other, 0)
    for _ in range(100):
        if os.path.exists(os.path.join(folder, "own")):
            break
        time.sleep(0.05)
    server.kill()
    server.wait()
    os.kill(store, signal.SIGTERM)
    os.waitpid(store, 0)


def own_work(folded, server):
    """What stands as the server's own, without what it was behind or asleep for."""
    total = 0
    for line in folded.splitlines():
        stack, ns = line.rsplit(" ", 1)
        frames = stack.split(";")
        places = [i for i, frame in enumerate(frames) if frame[0] == "["]
        chain = [frames[i].split(" › ")[-1].strip("[]") for i in places]
        is_own = chain[:2] == ["client", server] and set(chain[2:]) <= {server}
        if is_own and not any(frame.startswith(("path:", "sched:", "sleep:")) for frame in frames[places[-1]:]):
            total += int(ns)
    return total


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("--command", help=argparse.SUPPRESS)
    parser.add_argument("--shop", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=("node", "asyncio", "go", "tokio"), default="asyncio")
    parser.add_argument("--others", type=int, default=2)
    parser.add_argument("--stock", type=int, default=4)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--bound", type=float, default=100)
    parser.add_argument("--before", default="", help="what everything is run by, as 'chrt --rr 1'")
    options = parser.parse_args()
    if options.shop:
        asyncio.run(shop(*options.shop))
    if options.program:
        program(options, json.loads(options.command), options.program)
        return 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        wakepath, command = os.path.join(os.environ["WAKEPATH_BIN"], "wakepath"), command_of(options.way, folder)
        subprocess.run([*options.before.split(), wakepath, "record", "--quiet", "--out", os.path.join(folder, "out"), "--release", "truth", "--aggregate",
                        "truth=comm=client", "--", *options.before.split(), sys.executable, os.path.abspath(__file__), "--program", folder, "--command",
                        json.dumps(command), "--others", str(options.others), "--requests", str(options.requests), "--stock", str(options.stock)], check=True)
        subprocess.run([wakepath, "report", "--store", os.path.join(folder, "out", "store"), "--release", "truth", "--aggregate", "truth", "--format",
                        "folded", "--out", os.path.join(folder, "folded")], check=True)
        folded, server = read(folder, "folded"), os.path.basename(command[0])
        sums, known, own = EXECUTOR.found(folded), int(read(folder, "stock")), int(read(folder, "own"))
    told = sum(ns for chain, ns in sums.items() if chain.startswith(f"client;{server};") and chain.endswith("stock"))
    more, total = (told - known, own_work(folded, server) - own), sum(sums.values())
    percent = 100 * sum(map(abs, more)) / total
    print(f"  {options.way}, {options.others} others, {options.stock} connections: of {total / 1e6:.0f} ms stock {known / 1e6:.2f} ({100 * more[0] / total:+.2f} %), own work "
          f"{own / 1e6:.2f} ({100 * more[1] / total:+.2f} %): {percent:.2f} % misattributed", flush=True)
    return 0 if percent <= options.bound else 1


if __name__ == "__main__":
    sys.exit(main())
