#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each single request of many clients at once: what the exemplar, piece by piece, says of it, and what the program knows.

Judges what truth_rpc wrote down of its requests ("requests" of the truth) against the trace of the aggregate. A request
lasts from before its client's write to after its read. Misattributed is the time that the truth has in one of the
parts below and the trace has not, in percent of the request.

queue      it waited while others were served: from its sending until its server answered the one before
busy       the server worked for it, or wanted to while another had its CPU
sleep      the server slept for it
transit    between one's call and the other's: wakings, the scheduler, the message

Some things no program can know of itself, and the trace is not held to them: the write of a request, and that of the
answer before it, are neither queue nor anything else; who waits for a CPU before its call has returned is still in
that call by its own clock (in transit, or asleep for longer than it asked), and runnable or preempted by the kernel's;
and what a server does on its CPU in the call that takes the request, from when it was free for it, and in the call that answers,
until it is back from it, is transit by its own clock and its work by the kernel's: there, and there only, work in the trace
stands for transit.
"""
import bisect

PARTS = ("queue", "busy", "sleep", "transit")
SLEEPS = ("sleep:nanosleep", "sleep:clock_nanosleep")


def instants(request):
    """When it was written, the one before was done, its server was free for it, it was taken; in this order."""
    taken, written = request["taken"], min(request["written"], request["taken"])  # it may be taken within the write
    done, free = (min(max(request[name], written), taken) for name in ("done", "free"))
    return written, done, free, taken


def known_parts(request):
    """A request of the truth by parts."""
    written, done, free, taken = instants(request)
    return {"queue": done - written, "busy": request.get("cpu", 0) + request.get("preempted", 0),
            "preempted": request.get("preempted", 0), "sleep": request.get("sleep", 0),
            "transit": max(0, taken - free) + request["received"] - request["answered"]}


class Trace:
    """An exemplar: the pieces of each thread's control path, in the order of time."""

    def __init__(self, trace, base):
        self.frames = {0: []}
        self.base = f"[{base}]"
        for node in trace["nodes"]:
            self.frames[node["node"]] = self.frames[node["parent"]] + [node["frame"]]
        tids = {path["path"]: trace["threads"][path["thread"]]["tid"] for path in trace["paths"]}
        self.start_ns, self.omitted, self.pieces = trace["start_ns"], trace["omitted"], {}
        for piece in trace["pieces"]:
            self.pieces.setdefault(tids[piece["path"]], []).append(
                (piece["start_ns"], piece["start_ns"] + piece["length_ns"], self.part(piece)))
        for pieces in self.pieces.values():
            pieces.sort()

    def part(self, piece):
        frames = self.frames[piece["node"]]
        layers = [i for i, frame in enumerate(frames) if frame.startswith("[")]
        if frames[-1].startswith("path:"):
            return "queue"
        if len(layers) < 2:  # the client's own
            return "transit"
        above = frames[layers[-1] + 1:]
        if "sched:preempted" in above:
            return "preempted"
        if any(frame in SLEEPS for frame in above):
            return "sleep"
        return "transit" if any(frame.startswith(("sleep:", "sched:")) for frame in above) else "busy"

    def parts(self, tid, begin, end):
        """[begin, end) of the thread's path (realtime) by parts; what no piece covers is 'missing'."""
        begin, end = begin - self.start_ns, end - self.start_ns
        pieces, found = self.pieces.get(tid, []), dict.fromkeys((*PARTS, "preempted"), 0)
        at = max(bisect.bisect_right(pieces, (begin,)) - 1, 0)
        for start, stop, part in pieces[at:]:
            if start >= end:
                break
            found[part] += max(0, min(stop, end) - max(start, begin))
        found["missing"] = end - begin - sum(found.values())
        found["busy"] += found["preempted"]
        return found

    def in_calls(self, request, offset):
        """Work that lies where the request was being taken or answered."""
        _, _, free, taken = instants(request)
        answered = request["answered"]
        windows = ((free, taken), (answered, min(max(request.get("back", 0), answered), request["received"])))
        return sum(self.parts(request["tid"], begin + offset, end + offset)["busy"] for begin, end in windows)


def misattributed(request, known, found):
    """Nanoseconds that the truth has in a part and the trace has not."""
    waits = max(0, found["preempted"] - known["preempted"])
    late = min(waits, max(0, known["sleep"] - request.get("asked", 0)), max(0, known["sleep"] - found["sleep"]))
    unknowable = {"sleep": late, "transit": waits - late}
    return sum(max(0, known[part] - found[part] - unknowable.get(part, 0)) for part in PARTS)


def judge_requests(truth, trace):
    """[(percent, request, its parts as known, as found)], worst first."""
    offset, rows = truth["real_offset_ns"], []
    for request in truth["requests"]:
        known = known_parts(request)
        found = trace.parts(request["tid"], request["sent"] + offset, request["received"] + offset)
        in_calls = min(trace.in_calls(request, offset), max(0, known["transit"] - found["transit"]), found["busy"])
        found["busy"] -= in_calls
        found["transit"] += in_calls
        wrong = misattributed(request, known, found)
        rows.append((100 * wrong / (request["received"] - request["sent"]), request, known, found))
    rows.sort(key=lambda row: -row[0])
    return rows


def tell_requests(truth, trace, bound, leaves_out=0):
    """Prints the spread of what is misattributed, and the worst requests over the bound; true when none is, but so many percent."""
    rows = judge_requests(truth, trace)
    percents = [row[0] for row in rows]
    good = percents[len(rows) * leaves_out // 100] <= bound and not trace.omitted
    print(f"  single requests: {len(rows)}, misattributed median {percents[len(rows) // 2]:.2f} %  "
          f"p99 {percents[len(rows) // 100]:.2f} %  max {percents[0]:.2f} %  "
          f"{'ok' if good else 'WRONG, at most %g %%' % bound}{' (the trace is not whole)' if trace.omitted else ''}", flush=True)
    for percent, request, known, found in rows[:5]:
        if percent > bound:
            print(f"    thread {request['tid']} at {(request['sent'] - truth['requests'][0]['sent']) / 1e6:.2f} ms: {percent:.2f} %  "
                  + "  ".join(f"{part} {known[part] / 1e6:.2f} ms, the trace says {found[part] / 1e6:.2f}" for part in PARTS))
    return good
