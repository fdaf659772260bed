# SPDX-License-Identifier: Apache-2.0
"""What a report of a fleet says, by the frames of its folded stacks."""


def time_in(report, *parts, without=(), running=False):
    """Seconds of the pieces whose pseudo-stack holds these frames in this order, and none of the others; `running`: those in
    which the last of them was on a processor."""
    total = 0
    for line in report["folded"].splitlines():
        stack, ns = line.rsplit(" ", 1)
        at = 0
        if any(part in stack for part in without):
            continue
        for part in parts:
            at = stack.find(part, at)
            if at < 0:
                break
        else:
            if running and any(frame.startswith(("sleep:", "tcp:", "sched:")) for frame in stack[at:].split(";")):
                continue
            total += int(ns) / 1e9
    return total


def outline(report, rows=8):
    """The heaviest pseudo-stacks without their kernel functions."""
    lines = sorted(((int(line.rsplit(" ", 1)[1]), line.rsplit(" ", 1)[0]) for line in report["folded"].splitlines()), reverse=True)
    keep = ("[", "sleep:", "tcp:", "sched:", "path:")
    return "\n".join("%8.2f ms %s" % (ns / 1e6, ";".join(f for f in stack.split(";") if f.startswith(keep)))
                     for ns, stack in lines[:rows]) + "\n%s" % report["edges"]


def edges(report):
    return {(e["from"], e["to"]): e for e in report["edges"]}
