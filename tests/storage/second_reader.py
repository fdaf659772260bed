# SPDX-License-Identifier: Apache-2.0
"""A second reader of stores, written from wakepath-store(5) and proto/store.proto and from nothing else.

It takes the environment apart with mdb_dump, values with struct, bodies with the zstd command, digests with libxxhash, and
messages with the field list of the .proto file. read(FOLDER) gives {key: value}."""
import codecs
import ctypes
import fractions
import re
import struct
import subprocess
import uuid

KINDS = ("?", "shard", "metadata", "processed", "last_sample", "genealogy", "sourcemap", "source", "clock", "report", "trace",
         "blob", "exemplars")
MESSAGES = {"metadata": "Metadata", "processed": "Processed", "last_sample": "LastSample", "genealogy": "Genealogy",
            "sourcemap": "SourceMap", "source": "Source", "clock": "Clock", "report": "Report", "trace": "Trace",
            "exemplars": "Exemplars"}
CATEGORIES = ("understood_functions", "blocking_io", "running_not_sampled", "message_in_flight", "io_queue", "scheduler",
              "remote_not_traced", "deliberate_sleep", "hardware_wait", "involuntary", "kernel_block", "timeout", "other_path",
              "unaccounted")
EDGE = ("messages", "waited_ns", "transit_ns", "transit_max_ns", "bound_max_ns")
PARTS = CATEGORIES + ("whole", "unread")
LINKS = ("?", "waking", "fork", "exec", "message", "io", "horizontal")
ID = r"[A-Za-z0-9._+-]{1,128}"
BUCKET = r"(?:~[0-9a-f]{8})?"
HOST = r"(?:@[A-Za-z0-9._+-]{1,64}(?:@[0-9a-f]{16})?)?"
DELTA = r"(?:\.~[0-9]{10})?"
NUMBER = r"(?:0|[1-9][0-9]*)"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
KEYS = (
    ("report", rf"{ID}/report\.{NUMBER}\.{ID}{BUCKET}{HOST}{DELTA}"), ("trace", rf"{ID}/trace\.{NUMBER}\.{ID}{BUCKET}"),
    ("exemplars", rf"{ID}/exemplars\.{NUMBER}\.{ID}{BUCKET}"),
    ("metadata", rf"{ID}/metadata\.(?:~{NUMBER}\.)?{ID}{BUCKET}|__state__/metadata\.{ID}"), ("shard", rf"__state__/shard\.{ID}"),
    ("processed", rf"__state__/processed\.{UUID}\.{ID}"), ("last_sample", rf"__state__/last_sample\.{ID}"),
    ("genealogy", rf"__state__/genealogy\.{ID}{DELTA}"), ("sourcemap", rf"__state__/sourcemap\.{ID}{DELTA}"),
    ("source", rf"__state__/source\.{ID}{DELTA}"), ("clock", rf"__state__/clock\.{ID}"),
    ("blob", r"__source__/([0-9a-f]{2})/([0-9a-f]{2})/\1\2[0-9a-f]{28}"),
)

# One replacement character for each byte that is part of no well-formed sequence.
codecs.register_error("one", lambda error: ("\ufffd", error.start + 1))


def text(octets):
    return octets.decode("utf-8", "one")


class Digests:
    """libxxhash, by its C interface."""

    class Wide(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]

    def __init__(self):
        self.library = ctypes.CDLL("libxxhash.so.0")
        self.library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
        self.library.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
        self.library.XXH3_128bits.restype = self.Wide
        self.library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

    def narrow(self, octets, seed=0):
        return self.library.XXH3_64bits_withSeed(octets, len(octets), seed)

    def wide(self, octets):
        found = self.library.XXH3_128bits(octets, len(octets))
        return struct.pack(">QQ", found.high, found.low)


# --- messages ---

def schema(path):
    """{message: {number: (name, type, is_repeated)}} of a .proto file."""
    messages, stack = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.split("//")[0].strip()
            if begin := re.match(r"message (\w+) \{", line):
                stack.append(".".join(stack[-1:] + [begin[1]]))
                messages[stack[-1]] = {}
            elif line == "}":
                stack.pop()
            elif field := re.match(r"(repeated )?(\w+) (\w+) = (\d+);", line):
                messages[stack[-1]][int(field[4])] = (field[3], field[2], bool(field[1]))
    return messages


def varint(octets, at):
    value = shift = 0
    while True:
        value |= (octets[at] & 0x7F) << shift
        shift += 7
        at += 1
        if octets[at - 1] < 0x80:
            return value, at


def number(value, kind):
    if kind == "sint64":
        return value >> 1 ^ -(value & 1)
    return bool(value) if kind == "bool" else value


def message(messages, name, octets):
    """A dictionary of fields, those that are not there by their default."""
    fields = messages[name]
    found = {}
    for field, kind, repeated in fields.values():
        found[field] = [] if repeated else b"" if kind == "bytes" else False if kind == "bool" else 0
    at = 0
    while at < len(octets):
        tag, at = varint(octets, at)
        field, kind, repeated = fields[tag >> 3]
        if tag & 7 == 0:
            value, at = varint(octets, at)
            value = number(value, kind)
        else:
            assert tag & 7 == 2, (name, tag)
            size, at = varint(octets, at)
            value, at = octets[at:at + size], at + size
            assert len(value) == size
            inner = next((full for full in (f"{name}.{kind}", kind) if full in messages), None)
            if inner:
                value = message(messages, inner, value)
            elif kind != "bytes":  # packed
                inside = 0
                while inside < size:
                    one, inside = varint(value, inside)
                    found[field].append(number(one, kind))
                continue
        if repeated:
            found[field].append(value)
        else:
            found[field] = value
    return found


# --- values ---

class Reader:
    def __init__(self, proto):
        self.messages = schema(proto)
        self.digests = Digests()

    def environment(self, folder):
        """Keys and values as they are stored."""
        lines = subprocess.run(["mdb_dump", folder], check=True, capture_output=True, timeout=60).stdout.decode().splitlines()
        rows = [bytes.fromhex(line.strip()) for line in lines[lines.index("HEADER=END") + 1:lines.index("DATA=END")]]
        return dict(zip(rows[::2], rows[1::2]))

    def unwrap(self, stored):
        """Header, head and raw body, all that the document says checked."""
        assert stored[:4] == b"WPV1"
        kind, codec, version, head_size, zero, raw_size, digest, check = struct.unpack("<BBHIIQ16sQ", stored[4:48])
        head, body = stored[48:48 + head_size], stored[48 + head_size:]
        assert zero == 0 and version == 1 and len(head) == head_size
        assert check == self.digests.narrow(stored[:40]) ^ self.digests.narrow(head, 0x57505631)
        if codec == 1:
            body = subprocess.run(["zstd", "-dc"], input=body, check=True, capture_output=True, timeout=60).stdout
        else:
            assert codec == 0
        assert len(body) == raw_size and self.digests.wide(body) == digest
        return KINDS[kind], codec, head, body, digest

    def bucket(self, entries):
        """What an aggregate is called that was recorded with the parameters that its metadata says."""
        facts = sorted((entry["key"], entry["value"]) for entry in entries if entry["key"].startswith("bucket."))
        lines = "".join(f"{key}={value}\n" for key, value in facts).encode()
        return f"{dict(facts)['bucket.aggregate'][:119]}~{self.digests.narrow(lines) >> 32:08x}"

    def value(self, key, stored):
        kind, codec, head, body, digest = self.unwrap(stored)
        wanted = [name for name, form in KEYS if re.fullmatch(form, key)]
        assert wanted == [kind], (key, kind, wanted)
        found = {"key": key, "kind": kind, "version": 1, "codec": ("none", "zstd")[codec], "stored_bytes": len(stored),
                 "raw_bytes": len(body), "digest": digest.hex()}
        content = message(self.messages, MESSAGES[kind], body) if kind in MESSAGES else body
        if kind == "blob":
            assert key.rsplit("/", 1)[1] == digest.hex()
        found.update(getattr(self, kind)(content) if hasattr(self, kind) else {})
        if kind == "report":
            self.check_head(message(self.messages, "Head", head), found["head"])
            self.check_host(key, content)
        if kind == "shard" and head:
            labels = {label["key"]: label["value"] for label in message(self.messages, "Head", head)["labels"]}
            found["head"] = {"origin": labels[b"origin"].hex()}
        return found

    def check_host(self, key, body):
        """A report that is a host's own names that host and no other."""
        part = re.fullmatch(r"[^@]*?(?:@(.*?))?" + DELTA, key).group(1)
        if part is None:
            return
        name, = (body["strings"][at - 1] for at in body["hosts"])
        if not re.fullmatch(rb"[A-Za-z0-9._+-]{1,64}", name) or name in (b".", b".."):
            made = re.sub(rb"[^A-Za-z0-9._+-]", b"_", name[:64])
            made = b"_" if made in (b"", b".", b"..") else made
            name = made + b"@%016x" % self.digests.narrow(name)
        assert name.decode() == part, (key, name)

    def read(self, folder):
        return {key.decode(): self.value(key.decode(), stored) for key, stored in self.environment(folder).items()}

    @staticmethod
    def check_head(head, summed):
        for name in ("first_ns", "last_ns", "wall_ns", "total_ns", "hosts", "nodes", "processes", "events", "dropped"):
            assert head[name] == summed[name], name
        assert dict(zip(CATEGORIES, head["category_ns"])) == summed["categories"]

    # --- what the columns mean, as `wakepath-store cat --json` says it ---

    @staticmethod
    def blob(body):
        return {"text": text(body)}

    @staticmethod
    def metadata(body):
        return {"entries": [{"key": text(e["key"]), "value": text(e["value"]), "real_s": e["real_s"]} for e in body["entries"]]}

    @staticmethod
    def processed(body):
        return {**body, "session": body["session"].hex(), "host": body["host"].hex(), "hostname": text(body["hostname"])}

    @staticmethod
    def last_sample(body):
        return {"entries": [{**entry, "session": entry["session"].hex()} for entry in body["entries"]]}

    @staticmethod
    def clock(body):
        return {"spans": [{**span, "host": span["host"].hex(), "hostname": text(span["hostname"]), "method": text(span["method"])}
                          for span in body["spans"]]}

    @staticmethod
    def genealogy(body):
        strings = [b""] + body["strings"]
        columns = ("host", "pid", "comm", "exe", "start_ns", "parent_pid", "parent_start_ns", "exec_ns", "end_ns", "ending",
                   "oom_cgroup", "oom_holder", "oom_bytes", "cgroup", "workload")
        none = [0] * len(body["pid"])  # an absent column: of an old value, or nothing but zeros
        return {"processes": [{name: text(strings[value]) if name in ("host", "comm", "exe", "oom_cgroup", "oom_holder", "cgroup", "workload") else value
                               for name, value in zip(columns, row)}
                              for row in zip(*(body[name] or none for name in columns), strict=True)]}

    @staticmethod
    def sourcemap(body):
        strings = [b""] + body["strings"]
        none = [0] * len(body["build"])  # an absent column: of an old value, or nothing but zeros
        rows = zip(body["build"], body["object"], body["offset"], body["function"], body["file"] or none, body["line"] or none,
                   body["level"] or none, strict=True)
        return {"functions": [{"build_id": body["build_ids"][build - 1].hex(), "object": text(strings[path]), "offset": offset,
                               "function": text(strings[function]), "file": text(strings[file]), "line": line, "level": level}
                              for build, path, offset, function, file, line, level in rows]}

    @staticmethod
    def source(body):
        return {"sources": [{"host": text(p["host"]), "pid": p["pid"], "start_ns": p["start_ns"], "name": text(name), "digest": digest.hex()}
                            for p in body["processes"] for name, digest in zip(p["names"], p["digests"], strict=True)]}

    @staticmethod
    def tree(body):
        """Frame names and, for each node, the way to it."""
        strings = [b""] + body["strings"]
        frames = [None] + [strings[name] for name in body["frame_name"]]
        parents, ways = [0], [()]
        for at, (up, frame) in enumerate(zip(body["node_up"], body["node_frame"], strict=True), 1):
            parents.append(at - up)
            ways.append(ways[at - up] + (frames[frame],))
        return strings, frames, parents, ways

    @staticmethod
    def lines(body, strings):
        """Rows of the places in the source: their time, and what was called there."""
        sites = [{"file": text(strings[file]), "line": line, "function": text(strings[function])} for file, line, function in
                 zip(body["site_file"], body["site_line"], body["site_function"], strict=True)]
        lines, calls, used, site = [], [], set(), 0
        for step, category, total, run, own in zip(*(body["line_" + name] for name in ("site_step", "category", "total_ns", "run_ns", "self_ns")),
                                                   strict=True):
            site += step
            used.add(site)
            assert own <= run <= total
            lines.append({**sites[site - 1], "category": CATEGORIES[category], "total_ns": total, "run_ns": run, "self_ns": own})
        site = 0
        for step, callee, style, inlined, total, run in zip(*(body["call_" + name] for name in
                                                              ("site_step", "callee", "style", "inlined", "total_ns", "run_ns")), strict=True):
            site += step
            used.add(site)
            assert style in range(1, 9)
            calls.append({**sites[site - 1], "callee": text(strings[callee]), "is_inlined": bool(inlined), "total_ns": total, "run_ns": run})
        assert used == set(range(1, len(sites) + 1))
        return lines, calls

    @staticmethod
    def samples(body, times):
        """Gives each of the times its samples: how much of it fell into which bucket of realtime."""
        shift, starts, number = body["bucket_shift"], [], 0
        for step in body["bucket_step"]:
            number += step
            starts.append(number << shift)
        assert starts == sorted(set(starts)) and len(starts) <= 64
        # A width of half would do if it can make no more than 64 of what is there.
        assert (shift == 27 or 28 <= shift <= 58 and len(starts) > 32) if starts else shift == 0
        assert len(body["cell_samples"]) == (len(times) if starts else 0)
        rows = list(zip(body["sample_bucket"], body["sample_ns"], strict=True))
        assert {place for place, _ in rows} == set(range(len(starts)))
        at = 0
        for time, count in zip(times, body["cell_samples"]):
            mine, at = rows[at:at + count], at + count
            places = [place for place, _ in mine]
            assert len(mine) == count and places == sorted(set(places)) and all(ns for _, ns in mine)
            assert sum(ns for _, ns in mine) <= time["ns"] or time["ns"] == 2**64 - 1
            time["samples"] = [{"start_ns": starts[place], "ns": ns} for place, ns in mine]
        assert at == len(rows)

    @staticmethod
    def latency(bucket):
        """The least latency in a bucket: eight for each doubling from 1,024 ns on."""
        octave, part = divmod(bucket - 1, 8)
        return (1024 << octave) * (8 + part) // 8 if bucket else 0

    def report(self, body):
        strings, _, _, ways = self.tree(body)
        stacks = [text(b";".join(way)) for way in ways]
        node, times, categories = 0, [], dict.fromkeys(CATEGORIES, 0)
        for step, category, ns, count in zip(body["cell_node_step"], body["cell_category"], body["cell_ns"], body["cell_count"], strict=True):
            node += step
            categories[CATEGORIES[category]] += ns
            times.append({"ns": ns, "count": count, "category": CATEGORIES[category], "stack": stacks[node], "samples": []})
        self.samples(body, times)
        spans, end = [], 0
        for gap, length in zip(body["span_gap_ns"], body["span_length_ns"], strict=True):
            spans.append({"start_ns": end + gap, "end_ns": end + gap + length})
            end = spans[-1]["end_ns"]
        head = {"first_ns": spans[0]["start_ns"] if spans else 0, "last_ns": end, "wall_ns": sum(body["span_length_ns"]),
                "total_ns": sum(body["cell_ns"]), "categories": categories, "nodes": len(ways) - 1, "hosts": len(body["hosts"]),
                "processes": len(body["process_pid"]), "events": sum(body["event_total"]), "dropped": sum(body["event_dropped"])}
        processes = [{"host": text(strings[host]), "comm": text(strings[comm]), "pid": pid, "start_ns": start, "total_ns": total,
                      "running_ns": running} for host, comm, pid, start, total, running in
                     zip(*(body["process_" + name] for name in ("host", "comm", "pid", "start_ns", "total_ns", "running_ns")), strict=True)]
        longest = zip(body["unexplained_tid"], body["unexplained_longest_ns"], strict=True)
        waits = [{"ns": ns, "count": count, "reason": text(strings[reason]), "longest_ns": most, "tid": tid, "stack": stacks[at]}
                 for at, reason, ns, count, (tid, most) in
                 zip(*(body["unexplained_" + name] for name in ("node", "reason", "ns", "count")), longest, strict=True)]
        edges = [{"from": text(strings[sender]), "to": text(strings[waiter]), **dict(zip(EDGE, sums))} for sender, waiter, *sums in
                 zip(body["edge_from"], body["edge_to"], *(body["edge_" + name] for name in EDGE), strict=True)]
        assert all(edge["messages"] for edge in edges)
        transactions = [{"service": text(strings[service]), "who": text(strings[who]), "what": text(strings[what]), "part": PARTS[part],
                         "at_least_ns": self.latency(bucket), "ns": ns, "count": count} for service, who, what, part, bucket, ns, count in
                        zip(*(body["transaction_" + name] for name in ("service", "who", "what", "part", "bucket", "ns", "count")),
                            strict=True)]
        slowest = [{"service": text(strings[service]), "start_ns": start, "ns": ns} for service, start, ns in
                   zip(*(body["slowest_" + name] for name in ("service", "start_ns", "ns")), strict=True)]
        lines, calls = self.lines(body, strings)
        covered = not body["window_ns"] or body["recorded_ns"] >= body["window_ns"]
        return {"head": head, "lines": lines, "calls": calls, "times": times, "spans": spans, "processes": processes, "unexplained": waits,
                "hosts": [{"host": text(strings[host])} for host in body["hosts"]],
                "events": [{"kind": text(strings[kind]), "total": total, "dropped": dropped} for kind, total, dropped in
                           zip(body["event_kind"], body["event_total"], body["event_dropped"], strict=True)],
                "limits": [{"name": text(strings[name]), "count": count, "ns": ns} for name, count, ns in
                           zip(body["limit_name"], body["limit_count"], body["limit_ns"], strict=True)],
                "edges": edges, "transactions": transactions, "slowest_transactions": slowest,
                "coverage": 1.0 if covered else body["recorded_ns"] / body["window_ns"],
                "uncertain_ns": body["uncertain_ns"], "detached_ns": body["detached_ns"], **self.work(body)}

    def work(self, body):
        """Work that nobody waited for is a report in the report."""
        inner = message(self.messages, "Report", body["detached_work"])
        assert not inner["detached_work"]
        return {"detached_work": {"times": self.report(inner)["times"]}} if inner["cell_ns"] else {}

    def exemplars(self, body):
        """The windows by their rule: the three slowest of each service and of the waits, one by lot of each octave of a service,
        two waits by lot in proportion to their length."""
        windows = body["windows"]
        names = [(w["service"], -w["length_ns"], w["start_ns"], w["host"], w["tid"]) for w in windows]
        assert names == sorted(set(names)) and len({w["service"] for w in windows if w["service"]}) <= 8

        def draw(window):
            numbers = struct.pack("<QI", window["start_ns"], window["tid"])
            number = self.digests.narrow(numbers, self.digests.narrow(window["host"]))
            return fractions.Fraction(number, window["length_ns"] or 1) if not window["service"] else number

        shown = []
        for at, window in enumerate(windows):
            same = [other for other in windows if other["service"] == window["service"]]
            rivals = [other for other in same
                      if not window["service"] or other["length_ns"].bit_length() == window["length_ns"].bit_length()]
            slow = same.index(window) < 3
            drawn = sorted(rivals, key=draw).index(window) < (1 if window["service"] else 2)
            assert (slow or drawn) and len(window["trace"]) <= 32768, at
            shown.append({"service": text(window["service"]), "host": text(window["host"]), "tid": window["tid"],
                          "is_slowest": int(slow), "is_drawn": int(drawn), **self.trace(message(self.messages, "Trace", window["trace"]))})
        return {"windows": shown}

    def trace(self, body):
        strings, frames, parents, _ = self.tree(body)

        def steps(column):
            value = 0
            for step in body[column]:
                value += step
                yield value

        def rows(names, *columns):
            return [dict(zip(names, row)) for row in zip(*columns, strict=True)]

        def named(column):
            return [text(strings[name]) for name in body[column]]

        arrivals = [begin + length for begin, length in zip(steps("link_from_step"), body["link_duration_ns"], strict=True)]
        categories = {column: [CATEGORIES[category] for category in body[column]] for column in ("piece_category", "sleep_category")}
        return {"start_ns": body["start_ns"], "length_ns": body["length_ns"], "omitted": body["omitted"],
                "threads": rows(("thread", "host", "comm", "pid", "tid", "is_base"), range(len(body["thread_pid"])),
                                named("thread_host"), named("thread_comm"), body["thread_pid"], body["thread_tid"], body["thread_is_base"]),
                "paths": rows(("path", "thread", "is_base"), range(len(body["path_thread"])), body["path_thread"], body["path_is_base"]),
                "nodes": [{"node": at, "parent": parents[at], "frame": text(frames[frame])} for at, frame in
                          enumerate(body["node_frame"], 1)],
                "pieces": rows(("start_ns", "length_ns", "path", "node", "category"), steps("piece_start_step"),
                               body["piece_length_ns"], body["piece_path"], body["piece_node"], categories["piece_category"]),
                "runs": rows(("start_ns", "length_ns", "thread", "comm"), steps("run_start_step"), body["run_length_ns"],
                             body["run_thread"], named("run_comm")),
                "sleeps": rows(("start_ns", "length_ns", "thread", "category", "label"), steps("sleep_start_step"),
                               body["sleep_length_ns"], body["sleep_thread"], categories["sleep_category"], named("sleep_label")),
                "links": rows(("kind", "from_thread", "from_ns", "to_thread", "to_ns"), [LINKS[kind] for kind in body["link_kind"]],
                              body["link_from_thread"], steps("link_from_step"), body["link_to_thread"], arrivals)}


def shard_of(key):
    """The shard that a key belongs to, None for a blob."""
    key = re.sub(r"\.~[0-9]{10}$", "", key)
    for form in (rf".*/(?:report|trace|exemplars)\.{NUMBER}\.({ID})", rf"__state__/processed\.{UUID}\.({ID})",
                 rf".*/metadata\.~{NUMBER}\.({ID})", rf"__state__/\w+\.({ID})", rf".*/metadata\.({ID})"):
        if match := re.fullmatch(form, key):
            return match[1]
    return None


def session_of(key):
    return uuid.UUID(key.split(".")[1]).hex
