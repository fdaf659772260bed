#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seeds of the corpora from real input: make_seeds.py CAPTURE. Needs python3-zstandard no more than zstd(1)."""
import os, random, struct, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def put(target, name, data):
    with open(os.path.join(HERE, "corpus", target, name), "wb") as file:
        file.write(data)


def main():
    data, at, frames = open(sys.argv[1], "rb").read(), 0, []
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 12)[0]
        frames.append(data[at:at + 32 + size])
        at += 32 + size
    small = sorted((f for f in frames if f[5] == 3), key=len)[:3]
    put("frame", "capture", frames[0] + small[0] + frames[-1])
    for i, frame in enumerate(small):
        raw = subprocess.run(["zstd", "-dc"], input=frame[32:], stdout=subprocess.PIPE, check=True).stdout if frame[6] else frame[32:]
        put("batch", f"batch{i}", raw)
    for name, frame in (("hello", frames[0]), ("bye", frames[-1])):
        raw = subprocess.run(["zstd", "-dc"], input=frame[32:], stdout=subprocess.PIPE, check=True).stdout if frame[6] else frame[32:]
        put("session", name, raw)
    source = random.Random(1)
    for i in range(4):
        put("engine", f"random{i}", bytes(source.randrange(256) for _ in range(10 * 200)))


if __name__ == "__main__":
    main()
