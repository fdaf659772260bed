#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seeds of the corpora: make_seeds.py [CAPTURE]. What shards say is written here, the rest is of the capture. Needs zstd(1) and protoc(1)."""
import os, random, struct, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def put(target, name, data):
    with open(os.path.join(HERE, "corpus", target, name), "wb") as file:
        file.write(data)


def shard_message(number, kind, text):
    """One of tests/fuzz/shard_fuzz.c's."""
    top = os.path.dirname(os.path.dirname(HERE))
    body = subprocess.run(["protoc", "-I" + top, "--encode=wakepath.shard." + kind, top + "/proto/shard.proto"], input=text.encode(),
                          stdout=subprocess.PIPE, check=True).stdout
    return struct.pack("<BH", number, len(body)) + body


def shard_seeds():
    """Who is there, a host that ours is connected with, an answer with a bit of everything, and a question about ours."""
    run, theirs, ours = "r" * 16, "t" * 16, "\\001" + "\\000" * 15
    hello = 'wire_major: 1 run: "%s" shard: "b"' % run
    facts = """run: "%s" hosts { place: 3 session: "%s" host: "%s" hostname: "far" real_offset_ns: 5 start_ns: 1 known_ns: 900000000
        resolved_ns: 1 probe: [1000, 1001, 1002, 1003] } ends { place: 3 socket: 9 family: 2 local: "\\n\\000\\000\\002" remote: "\\n\\000\\000\\001"
        local_port: 80 remote_port: 40000 sequence: 30064771077 left_ns: 250000000 left: 50 arrived_ns: 210000000 arrived: 100 }""" % (run, theirs, theirs)
    answers = """answers { id: 1 strings: ["", "f", "host"] frame_style: [1, 2] frame_name: [1, 2] frame_object: [0, 1] node_parent: [0, 1]
        node_frame: [1, 2] process_host: 2 process_comm: 1 process_pid: 7 process_start_ns: 8 layer_parent: [0, 1] layer_process: [0, 0]
        piece_ns: [40000000, 60000000] piece_node: [2, 0] piece_layer: [2, 0] piece_category: [1, 2] piece_flags: [1, 2] piece_reason: [0, 1]
        edge_from: 2 edge_to: 1 edge_waited_ns: 5 edge_transit_ns: 6 edge_bound_ns: 7 limit_count: 1 limit_ns: 9 }"""
    question = """questions { id: 4 session: "%s" socket: 1 asker: "%s" from_ns: 150000000 to_ns: 250000000 arrival_ns: 250000000 position: 100
        start_ns: 150000000 bound_ns: 10 horizon_ns: 260000000 lateness_ns: 1000 aggregate: "web" release: "v1" depth: 1 hops: 2 }""" % (ours, theirs)
    say = [shard_message(0, "Hello", hello), shard_message(3, "Hello", hello), shard_message(1, "Facts", facts)]
    put("shard", "talk_answer", b"".join([*say, shard_message(4, "Answers", answers), shard_message(4, "Answers", answers)]))
    put("shard", "talk_question", b"".join([*say, shard_message(2, "Questions", question), shard_message(1, "Facts", facts)]))


def main():
    shard_seeds()
    if len(sys.argv) < 2:
        return
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
