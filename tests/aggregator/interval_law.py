#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time before an instant and the time behind it are the whole, stack by stack, wherever it lies: in the middle of a run, of a wait, of detached work.

interval_law.py SCENARIO_RUN

Each scenario is run as it is, and twice with a selector that has an interval (between=)."""
import collections
import glob
import os
import random
import re
import subprocess
import sys
import tempfile

# What is older than the history at the end of the interval is not asked what it waited for: a sleep that is cut there has another past.
OLDER = {"limit-history", "loop-unanswered-old", "request-old"}
END = 2 ** 64 - 1


def sums(text):
    """Of each stack, in us; as they are printed, six digits long."""
    found = collections.Counter()
    for line in text.splitlines():
        if line.startswith(("[", "detached ", "total ", "beside ", "idle ")):
            key, value = line.rsplit(" ", 1)
            found[key] += float(value)
    return found


def run(program, path, text, selector):
    if selector:
        text = re.sub(r"\A((?:(?:host .*|#.*)?\n)*)", lambda head: head[1] + f"option selector {selector}\n", text, count=1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run([program, "--print", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    if "--\n" not in text or (done.stderr and done.returncode < 0):
        sys.exit(f"{path}: {done.stderr}")
    return sums(done.stdout)


def main():
    program, cut, wrong = sys.argv[1], 0, []
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scenarios")
    with tempfile.TemporaryDirectory() as scratch:
        for name in sorted(glob.glob(folder + "/*.txt")):
            with open(name, encoding="utf-8") as file:
                text = file.read()
            name = os.path.basename(name)[:-4]
            if "option selector" in text or name in OLDER:
                continue
            whole = run(program, scratch + "/s", text, "")
            last = int(1000 * max(float(time) for time in re.findall(r"^(\d+(?:\.\d+)?) +\w", text, re.M)))
            at = random.Random(name).randrange(1, last)
            parts = run(program, scratch + "/s", text, f"command,between=0-{at}") + run(program, scratch + "/s", text, f"command,between={at}-{END}")
            wrong += [f"{name}, cut at {at} ns: '{key}' is {whole[key]} us, and in parts {parts[key]}" for key in sorted(set(whole) | set(parts))
                      if abs(whole[key] - parts[key]) > 0.01 + whole[key] * 1e-5]
            cut += bool(parts["total"])
    print("\n".join(wrong))
    assert cut > 50, cut
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
