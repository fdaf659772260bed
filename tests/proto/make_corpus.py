#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_corpus.py BIN FOLDER: what the programs in BIN say to each other, kept in FOLDER for versions_test.py and corpus_test.c. Made
once for each wire version, by that version's programs, before the next one is begun (proto_corpus_test --write makes the rest).

recorded.capture  the collector's session of tests/perf_script/recorded.txt
answers.frames    all that the aggregator answers to recorded.capture, and to a question for names
"""
import os, socket, subprocess, sys, tempfile

sys.argv, (BIN, FOLDER) = sys.argv[:1], sys.argv[1:3]
from versions_test import ACK, BATCH, HEAD, NAME_QUESTION, PATIENCE_S, WELCOME, Peer, frame, frames_of, message, numbers

TEXT = os.path.dirname(os.path.abspath(__file__)) + "/../perf_script/recorded.txt"
COMMON = ["--release", "v1", "--hostname", "corpus"]


def run(*words):
    subprocess.run([f"{BIN}/wakepath-collector", "--no-config", *COMMON, *words], check=True, timeout=PATIENCE_S)


def answers(folder, capture):
    down, up = os.pipe()
    aggregator = subprocess.Popen([f"{BIN}/wakepath-aggregator", "--no-config", "--bind", f"ipc://{folder}/a", "--store", folder + "/store", "--release", "v1",
                                   "--auto-aggregates", "5", "--exit-after-sessions", "1", "--ready-fd", str(up)], pass_fds=[up])
    os.close(up)
    os.read(down, 6)
    frames, got, acked = frames_of(capture), [], 0
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(folder + "/a")
    peer = Peer(sock, b"DEALER", b"W" + numbers(frames[0][HEAD:])[4])
    peer.send(frames[0])

    def take():
        flags = 4
        while flags & 4:
            flags, body = peer.part()
        got.append(body)
        return body[5], body[HEAD:]
    kind = None
    while kind != WELCOME:
        kind, payload = take()
    if numbers(payload).get(2, 0) >= 4:
        peer.send(frame(NAME_QUESTION, message(f1=7, f2=bytes(range(20)), f3=b"\x10")))
    for one in frames[1:]:
        peer.send(one)
    last = sum(one[5] == BATCH for one in frames)
    while acked < last:
        kind, payload = take()
        acked = max(acked, numbers(payload).get(1, 0)) if kind == ACK else acked
    sock.close()
    aggregator.wait(timeout=PATIENCE_S)
    return b"".join(got)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    run("--source", f"perf-script:{TEXT}", "--output", FOLDER + "/recorded.capture")
    with tempfile.TemporaryDirectory() as folder:
        text = answers(folder, FOLDER + "/recorded.capture")
    with open(FOLDER + "/answers.frames", "wb") as file:
        file.write(text)


if __name__ == "__main__":
    main()
