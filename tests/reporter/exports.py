# SPDX-License-Identifier: Apache-2.0
"""Readers of every format that the reporter exports, written from the formats' own documents and sharing nothing with the
writers. Each checks the structure (ids that exist, types, order) and gives plain values; docs/exports.md has an example a
format. Stacks are tuples of names, the outermost first."""
import csv
import gzip
import io
import json
import re


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        assert shift < 70, "a varint has at most ten bytes"


def message(data):
    """Protobuf's wire format: field number -> list of integers or bytes."""
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field ends behind its message"
        else:
            raise AssertionError(f"wire type {kind}")
        fields.setdefault(number, []).append(value)
    return fields


def one(fields, number, default=0):
    return fields.get(number, [default])[-1]


def numbers(fields, number):
    """A repeated number, packed or not."""
    found = []
    for value in fields.get(number, []):
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            item, at = varint(value, at)
            found.append(item)
    return found


def read_pprof(data):
    """Rows (stack, category, pieces, ns) and {location: object} of a pprof profile (github.com/google/pprof, profile.proto)."""
    assert data[:2] == b"\x1f\x8b" and data[4:8] == bytes(4), "gzip without a time"
    return read_profile(gzip.decompress(data))


def read_profile(data):
    """The same of one that is not compressed."""
    profile = message(data)
    texts = [text.decode("utf-8") for text in profile[6]]
    assert texts[0] == "" and len(set(texts)) == len(texts)
    types = [(texts[one(message(row), 1)], texts[one(message(row), 2)]) for row in profile[1]]
    assert types == [("pieces", "count"), ("time", "nanoseconds")]
    assert texts[one(profile, 14)] == "time"
    mappings = {one(row, 1): texts[one(row, 5)] for row in map(message, profile.get(3, []))}
    functions = {one(row, 1): texts[one(row, 2)] for row in map(message, profile.get(5, []))}
    locations, objects = {}, {}
    for row in map(message, profile.get(4, [])):
        assert len(row[4]) == 1 and one(row, 1) and one(row, 1) not in locations
        locations[one(row, 1)] = functions[one(message(row[4][0]), 1)]
        objects[one(row, 1)] = mappings[one(row, 2)] if one(row, 2) else ""
    rows = []
    for row in map(message, profile.get(2, [])):
        labels = {texts[one(label, 1)]: texts[one(label, 2)] for label in map(message, row[3])}
        pieces, ns = numbers(row, 2)
        rows.append((tuple(locations[i] for i in reversed(numbers(row, 1))), labels["category"], pieces, ns))
    return rows, objects


def read_speedscope(data):
    """Profiles (name, [(stack, ns)]) by speedscope's file-format-schema.json."""
    root = json.loads(data.decode("utf-8"))
    assert root["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [frame["name"] for frame in root["shared"]["frames"]]
    assert all(isinstance(name, str) for name in names) and root["activeProfileIndex"] == 0
    profiles = []
    for profile in root["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] == "nanoseconds"
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        assert all(0 <= i < len(names) for sample in profile["samples"] for i in sample)
        profiles.append((profile["name"], [(tuple(names[i] for i in sample), weight)
                                           for sample, weight in zip(profile["samples"], profile["weights"])]))
    return profiles


def read_pprof_raw(text):
    """[(stack, category, pieces, ns)] of what `go tool pprof -raw` says of a profile; a name has its file after it, or nothing where
    pprof shows a shorter one (it takes templates and arguments for C++)."""
    head, rest = text.split("\nSamples:\n")
    samples, rest = rest.split("\nLocations\n")
    locations, _ = rest.split("\nMappings\n")
    assert "pieces/count" in samples and "time/nanoseconds[dflt]" in samples, head
    names, rows = {}, []
    for line in locations.split("\n"):
        number, name, whole = re.fullmatch(r" *(\d+): 0x0 (?:M=\d+ )?(.*?):0 s=0(?:\((.*)\))?", line).groups()
        names[int(number)] = f"{whole} " if whole else name
    for line in samples.split("\n")[1:]:
        numbers = re.fullmatch(r" *(\d+) +(\d+): ((?:\d+ )*)", line)
        if numbers:
            rows.append((tuple(names[int(one)] for one in reversed(numbers[3].split())), int(numbers[1]), int(numbers[2])))
        else:
            category = re.fullmatch(r" *category:\[(\w+)\] *", line)[1]
            stack, pieces, ns = rows.pop()
            rows.append((stack, category, pieces, ns))
    return rows


def thousandths(text):
    """Microseconds with three digits behind the point, exactly."""
    whole, _, part = text.partition(".")
    assert len(part) == 3
    return int(whole) * 1000 + int(part)


def read_perfetto(data):
    """(slices by (pid, tid), flows, names by (pid, tid)) of trace event JSON. A slice is (start ns, end ns, category, name), a
    flow (kind, from, from ns, to, to ns); each end of a flow must hang on a slice, and slices of a thread never overlap."""
    root = json.loads(data.decode("utf-8"), parse_float=thousandths)
    slices, begun, flows, names, opened = {}, {}, [], {}, {}
    for event in root["traceEvents"]:
        track = (event["pid"], event["tid"])
        assert event["pid"] > 0 and event["tid"] > 0
        if event["ph"] == "M":
            if event["name"] == "thread_name":
                assert track not in names
                names[track] = event["args"]["name"]
        elif event["ph"] == "B":
            assert track not in opened
            opened[track] = event
        elif event["ph"] == "E":
            start = opened.pop(track)
            assert all(start[key] == event[key] for key in ("cat", "name", "args"))
            slices.setdefault(track, []).append((start["ts"], event["ts"], event["cat"], event["name"]))
        elif event["ph"] == "s":
            assert event["id"] not in begun
            begun[event["id"]] = (event["name"], track, event["ts"])
        else:
            assert event["ph"] == "f"
            kind, source, at = begun.pop(event["id"])
            assert kind == event["name"]
            flows.append((kind, source, at, track, event["ts"], "bp" in event))
    assert not begun and not opened and set(slices) <= set(names)
    for rows in slices.values():
        assert all(row[0] <= row[1] <= after[0] for row, after in zip(rows, rows[1:] + [(rows[-1][1],)]))
    return slices, flows, names


def read_perun(data):
    """(document, [(snapshot's time, stack, category, ns, uid's function)]) of a Perun profile."""
    root = json.loads(data.decode("utf-8"))
    assert list(root) == ["origin", "header", "collector_info", "machine", "postprocessors", "snapshots", "chunks"]
    assert root["header"]["type"] == "time" and root["header"]["units"] == {"time": "ns"}
    assert root["collector_info"]["name"] == "wakepath"
    models = root["snapshots"][-1]["models"] if root["snapshots"] else []
    assert [unit["name"] for unit in root["postprocessors"]] == ["regression_analysis"] * bool(models)
    for model in models:
        assert list(model) == ["uid", "model", "method", "r_square", "coeffs", "x_interval_start", "x_interval_end"]
        assert model["model"] in root["postprocessors"][0]["params"]["models"] and model["x_interval_start"] < model["x_interval_end"]
        assert [coefficient["name"] for coefficient in model["coeffs"]] == ["b0", "b1", "b2"][:len(model["coeffs"])]
    rows, used = [], []
    for at, snapshot in enumerate(root["snapshots"]):
        assert (not snapshot["models"] or at == len(root["snapshots"]) - 1) and float(snapshot["time"]) >= 0
        for resource in snapshot["resources"]:
            trace = resource["trace"]
            if isinstance(trace, str):
                used.append(trace)
                trace = root["chunks"][trace]
            assert resource["type"] == "time" and set(resource["uid"]) == {"source", "function", "line"}
            assert resource["uid"] in trace
            rows.append((snapshot["time"], tuple(frame["function"] for frame in reversed(trace)), resource["subtype"],
                         resource["amount"], resource["uid"]["function"]))
    assert set(used) == set(root["chunks"]) and all(used.count(chunk) > 1 for chunk in root["chunks"])
    times = [float(snapshot["time"]) for snapshot in root["snapshots"]]
    assert times == sorted(times)
    return root, rows


def read_ndjson(data):
    """Table -> rows as dictionaries."""
    tables = {}
    for line in data.decode("utf-8").splitlines():
        row = json.loads(line)
        tables.setdefault(row.pop("table"), []).append(row)
    return tables


def read_csv(data):
    """Rows as dictionaries. Every record is one line."""
    text = data.decode("utf-8")
    assert text.endswith("\r\n") and "\n" not in text.replace("\r\n", "")
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert len(rows) == text.count("\r\n") - 1
    return rows


def read_folded(data):
    """Rows (stack, ns)."""
    lines = data.decode("utf-8").split("\n")
    assert lines.pop() == ""
    return [(tuple(line.rpartition(" ")[0].split(";")), int(line.rpartition(" ")[2])) for line in lines]
