#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""versions_test.py BIN: the programs of this tree with peers of other wire versions. A peer here speaks ZMTP 3.0 (RFC 23) by itself and
says what an older or newer build said: the frames of corpus_v1 (1.0) and corpus_v1_1 to corpus_v1_9, written by these versions, and frames
that are made here."""
import ctypes, os, socket, struct, subprocess, sys, tempfile, unittest

BIN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
HERE = os.path.dirname(os.path.abspath(__file__))
SETS = [HERE + "/corpus_v1"] + [HERE + f"/corpus_v1_{minor}" for minor in range(1, 10)]  # by wire minor
CORPUS = SETS[0]
HELLO, WELCOME, BATCH, ACK, BYE, REFUSED, TIME_PROBE, TIME_REPLY = range(1, 9)
NAME_QUESTION, NAME_ANSWER = 15, 16
EVENTS, WINDOW, LOCAL, REASON = 7, 18, 19, 20  # a field of Batch; kinds of events
DT, DT_LOW, PLANES = 4, 18, 7  # fields of Events; the minor version from which on dt stands in planes
POSITION, MESSAGES, BY_SOCKET = 20, (11, 12, 13), 8  # the same of where messages end, by their sockets
SHAPE, SHAPE_KIND, SHAPES = 21, 22, 9  # and of what events share
HEAD = 32
PATIENCE_S = 60
XXHASH = ctypes.CDLL("libxxhash.so.0")
XXHASH.XXH3_64bits.restype = ctypes.c_uint64
XXHASH.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
ZSTD = ctypes.CDLL("libzstd.so.1")
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def message(**fields):
    """Of protobuf: f1=... are numbers or bytes."""
    out = b""
    for name, value in fields.items():
        number = int(name[1:])
        out += varint(number << 3) + varint(value) if isinstance(value, int) else varint(number << 3 | 2) + varint(len(value)) + value
    return out


def numbers(payload):
    """{field: number} of a message's varints."""
    found, at = {}, 0

    def take():
        nonlocal at
        value = shift = 0
        while True:
            value |= (payload[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if payload[at - 1] < 0x80:
                return value
    while at < len(payload):
        tag = take()
        value = take()
        if tag & 7 == 0:
            found[tag >> 3] = value
        else:
            found[tag >> 3] = payload[at:at + value]
            at += value
    return found


def frame(kind, payload, major=1):
    return struct.pack("<4s4BIIQQ", b"WPF1", major, kind, 0, 0, len(payload), len(payload), XXHASH.XXH3_64bits(payload, len(payload)), 0) + payload


def raw_of(body):
    """The message in a frame."""
    if not body[6]:
        return body[HEAD:]
    size = int.from_bytes(body[8:12], "little")
    out = ctypes.create_string_buffer(size)
    assert ZSTD.ZSTD_decompress(out, ctypes.c_size_t(size), body[HEAD:], ctypes.c_size_t(len(body) - HEAD)) == size
    return out.raw


def kinds_of(body):
    """Of the events in a batch's frame, in their order."""
    columns = numbers(numbers(raw_of(body)).get(EVENTS, b""))
    kinds, shapes = iter(columns.get(2, b"")), columns.get(SHAPE_KIND, b"")
    if SHAPE not in columns:
        return list(kinds)
    return [shapes[number - 1] if number else next(kinds) for number in columns[SHAPE]]


def frames_of(path):
    with open(path, "rb") as file:
        data = file.read()
    found = []
    while data:
        size = HEAD + struct.unpack_from("<I", data, 12)[0]
        found.append(data[:size])
        data = data[size:]
    return found


class Peer:
    """One connection, after the handshake (NULL mechanism)."""

    def __init__(self, sock, kind, identity=b""):
        self.sock, self.pending = sock, b""
        sock.settimeout(PATIENCE_S)
        sock.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
        self.exactly(64)
        properties = b"\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
        properties += b"\x08Identity" + struct.pack(">I", len(identity)) + identity
        body = b"\x05READY" + properties
        sock.sendall(bytes([4, len(body)]) + body)
        self.part()

    def exactly(self, size):
        while len(self.pending) < size:
            data = self.sock.recv(65536)
            if not data:
                raise EOFError
            self.pending += data
        data, self.pending = self.pending[:size], self.pending[size:]
        return data

    def part(self):
        flags = self.exactly(1)[0]
        size = struct.unpack(">Q", self.exactly(8))[0] if flags & 2 else self.exactly(1)[0]
        return flags, self.exactly(size)

    def receive(self):
        """(kind, payload) of the next frame; commands of ZMTP are passed over."""
        while True:
            flags, body = self.part()
            if not flags & 4:
                return body[5], body[HEAD:]

    def send(self, body):
        self.sock.sendall((struct.pack(">BQ", 2, len(body)) if len(body) > 255 else bytes([0, len(body)])) + body)


class Programs(unittest.TestCase):
    """A program of this tree, and a peer."""

    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="wakepath-versions-")
        self.folder, self.children, self.sockets = self.holder.name, [], []

    def tearDown(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            child.stderr.close()
        for sock in self.sockets:
            sock.close()
        self.holder.cleanup()

    def start(self, name, *words, **how):
        child = subprocess.Popen([f"{BIN}/{name}", "--no-config", *words], stderr=subprocess.PIPE, text=True, **how)
        self.children.append(child)
        return child

    def aggregator(self, store, *words):
        down, up = os.pipe()
        child = self.start("wakepath-aggregator", "--bind", f"ipc://{self.folder}/a", "--store", store, "--release", "v1",
                           "--auto-aggregates", "5", "--exit-after-sessions", "1", "--ready-fd", str(up), *words, pass_fds=[up])
        os.close(up)
        self.assertTrue(os.read(down, 6))
        os.close(down)
        return child

    def call(self, identity=b""):
        sock = socket.socket(socket.AF_UNIX)
        self.sockets.append(sock)
        sock.connect(self.folder + "/a")
        return Peer(sock, b"DEALER", identity)

    def contents(self, store):
        listed = subprocess.run([BIN + "/wakepath-store", "stat", store, "--json"], check=True, capture_output=True, text=True).stdout
        names = sorted(word.split('"')[3] for word in listed.splitlines() if '"name":' in word)
        self.assertTrue(names)
        return {name: subprocess.run([BIN + "/wakepath-store", "cat", store, f"v1:{name}"], check=True, capture_output=True).stdout for name in names}

    def ended(self, child, status):
        text = child.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(child.returncode, status, text)
        return text

    def collector(self, capture=CORPUS + "/recorded.capture", *words, **how):
        if os.path.exists(self.folder + "/a"):
            os.unlink(self.folder + "/a")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.folder + "/a")
        listener.listen(4)
        listener.settimeout(PATIENCE_S)
        child = self.start("wakepath-collector", "--source", f"capture:{capture}" if capture else "bpf", "--connect", f"ipc://{self.folder}/a",
                           "--spool", "none", *words, **how)
        self.sockets += [listener, listener.accept()[0]]
        self.listener = listener
        peer = Peer(self.sockets[-1], b"ROUTER")
        kind, payload = peer.receive()
        self.assertEqual(kind, HELLO)
        return child, peer


class Versions(Programs):
    def test_collectors_of_each_version(self):
        """What they say, byte for byte, is understood; and means what it means when today's collector replays it."""
        for minor, corpus in enumerate(SETS):
            with self.subTest(minor=minor):
                self.an_old_collector(minor, corpus + "/recorded.capture")

    def an_old_collector(self, minor, capture):
        aggregator = self.aggregator(f"{self.folder}/old{minor}")
        frames = frames_of(capture)
        self.assertEqual([one[5] for one in (frames[0], frames[-1])], [HELLO, BYE])
        old = numbers(frames[0][HEAD:])
        self.assertEqual(old.get(2, 0), minor)
        peer = self.call(b"W" + old[4])
        peer.send(frames[0])
        kind, payload = peer.receive()
        self.assertEqual(kind, WELCOME)
        welcome = numbers(payload)
        self.assertEqual((welcome[1], welcome[3]), (1, 1))
        for one in frames[1:]:
            peer.send(one)
        acked, last = 0, sum(one[5] == BATCH for one in frames)
        while acked < last:
            kind, payload = peer.receive()
            self.assertIn(kind, (ACK, TIME_PROBE))
            acked = max(acked, numbers(payload).get(1, 0)) if kind == ACK else acked
        self.ended(aggregator, 0)
        again = self.aggregator(f"{self.folder}/new{minor}")
        collector = self.start("wakepath-collector", "--source", f"capture:{capture}", "--connect", f"ipc://{self.folder}/a")
        self.ended(collector, 0)
        self.ended(again, 0)
        self.assertEqual(self.contents(f"{self.folder}/old{minor}"), self.contents(f"{self.folder}/new{minor}"))

    def refused(self, hello):
        self.aggregator(self.folder + "/store")
        peer = self.call(b"W" + bytes(16))
        peer.send(hello)
        kind, payload = peer.receive()
        self.assertEqual(kind, REFUSED)
        said = numbers(payload)
        self.assertEqual(said.get(2), 1, "for good")
        return said[1].decode()

    def test_collector_of_a_newer_major(self):
        reason = self.refused(frame(HELLO, message(f1=2, f2=7, f3=bytes(16), f4=bytes(16), f5=b"h")))
        self.assertIn("2.7", reason)
        self.assertRegex(reason, r"\b1\.\d")

    def test_frames_of_a_newer_major(self):
        reason = self.refused(frame(HELLO, message(f1=2), major=2))
        self.assertIn("version 2", reason)
        self.assertIn("version 1", reason)

    def test_aggregator_of_version_1_0(self):
        """It says 1.0, no windows, and acknowledges without saying what it has taken in."""
        child, peer = self.collector()
        old = next(one for one in frames_of(CORPUS + "/answers.frames") if one[5] == WELCOME)
        self.assertEqual(numbers(old[HEAD:]).get(2, 0), 0)
        peer.send(frame(WELCOME, message(f1=1, f3=1, f4=4)))
        got, kind = [], None
        while kind != BYE:
            kind, payload = peer.receive()
            self.assertIn(kind, (BATCH, BYE))
            got.append(kind)
            if kind == BATCH:
                peer.send(frame(ACK, message(f1=len(got))))
        wanted = sum(one[5] == BATCH for one in frames_of(CORPUS + "/recorded.capture"))
        self.assertEqual(got, [BATCH] * wanted + [BYE])
        self.ended(child, 0)

    def test_aggregators_of_each_version(self):
        """Today's collector gets what an aggregator of that version answered to the same session, byte for byte."""
        for minor in range(1, len(SETS)):
            with self.subTest(minor=minor):
                self.an_old_aggregator(minor, SETS[minor])

    def an_old_aggregator(self, minor, corpus):
        child, peer = self.collector(corpus + "/recorded.capture")
        answers = frames_of(corpus + "/answers.frames")
        welcome = next(one for one in answers if one[5] == WELCOME)
        self.assertEqual(numbers(welcome[HEAD:])[2], minor)
        peer.send(welcome)
        got, kind = [], None
        while kind != BYE:
            kind, payload = peer.receive()
            self.assertIn(kind, (BATCH, BYE, TIME_REPLY))
            got.append(kind)
        wanted = sum(one[5] == BATCH for one in frames_of(corpus + "/recorded.capture"))
        self.assertEqual([kind for kind in got if kind != TIME_REPLY], [BATCH] * wanted + [BYE])
        for one in answers:
            if one is not welcome:
                peer.send(one)
        self.ended(child, 0)

    def test_newer_sessions_for_older_aggregators(self):
        """What was recorded by a newer version than the aggregator's, as from a spool: all batches come, without events that it would refuse."""
        left_out = 0
        for minor in range(len(SETS) - 1):
            for newer in range(minor + 1, len(SETS)):
                with self.subTest(minor=minor, newer=newer):
                    left_out += self.a_newer_session(minor, SETS[newer] + "/made.capture")
        self.assertGreater(left_out, 10)

    def a_newer_session(self, minor, capture):
        child, peer = self.collector(capture)
        peer.send(frame(WELCOME, message(f1=1, f2=minor, f3=1, f4=1000)))
        got, kind = [], None
        while kind != BYE:
            flags, body = peer.part()
            if flags & 4:
                continue
            kind = body[5]
            self.assertIn(kind, (BATCH, BYE))
            if kind == BATCH:
                got.append(kinds_of(body))
                times = numbers(numbers(raw_of(body)).get(EVENTS, b""))
                self.assertEqual(DT_LOW in times, bool(got[-1]) and minor >= PLANES, "times as it reads them")
                self.assertEqual(DT in times, bool(got[-1]) and minor < PLANES)
                self.assertEqual(SHAPE in times, bool(got[-1]) and minor >= SHAPES)
                if any(kind in MESSAGES for kind in got[-1]):
                    self.assertEqual(POSITION in times, minor >= BY_SOCKET, "positions too")
                peer.send(frame(ACK, message(f1=len(got))))
        self.ended(child, 0)
        said = [kinds_of(one) for one in frames_of(capture) if one[5] == BATCH]
        understood = [[kind for kind in batch if minor >= {WINDOW: 2, LOCAL: 5, REASON: 6}.get(kind, 0)] for batch in said]
        self.assertEqual(got, understood)
        return sum(map(len, said)) - sum(map(len, understood))

    def test_what_an_older_collector_is_not_asked(self):
        """A newer one asks for names of an object that both have: nobody asks the older one, and windows do not trouble it."""
        self.aggregator(self.folder + "/store", "--window", "1s every 2s")
        peers = []
        for minor in (0, 1, 2, 3, 4):
            session = bytes([minor]) * 16
            peers.append(self.call(b"W" + session))
            hello = numbers(frames_of(SETS[minor] + "/recorded.capture")[0][HEAD:])
            peers[-1].send(frame(HELLO, message(**{f"f{number}": value for number, value in hello.items() if number not in (3, 4)},
                                                f3=session, f4=session)))
            self.assertEqual(peers[-1].receive()[0], WELCOME)
        for round_ in range(1, 4):
            peers[-1].send(frame(NAME_QUESTION, message(f1=round_, f2=bytes(range(20)), f3=b"\x10")))
            kind, payload = peers[-1].receive()
            while kind != NAME_ANSWER:
                kind, payload = peers[-1].receive()
        _, after = self.until_probe(peers[-1], 0)
        for minor, peer in enumerate(peers[:-1]):
            self.assertLessEqual(self.until_probe(peer, after)[0], {WELCOME, ACK, TIME_PROBE}, minor)

    def until_probe(self, peer, after):
        """The kinds of frames up to a probe that was sent later than that, and when it was."""
        heard, sent = set(), 0
        while sent <= after:
            kind, payload = peer.receive()
            heard.add(kind)
            sent = numbers(payload)[1] if kind == TIME_PROBE else sent
        return heard, sent

    def test_aggregator_of_a_newer_major(self):
        child, peer = self.collector()
        peer.send(frame(WELCOME, message(f1=2, f2=3, f3=1, f4=4)))
        text = self.ended(child, 1)
        self.assertIn("2.3", text)
        self.assertRegex(text, r"\b1\.\d")

    def test_frames_of_a_newer_aggregator(self):
        """One may be damaged; the answer to the next Hello is not."""
        child, peer = self.collector()
        peer.send(frame(WELCOME, message(f1=2), major=2))
        self.assertEqual(peer.receive()[0], HELLO)
        peer.send(frame(WELCOME, message(f1=2), major=2))
        text = self.ended(child, 1)
        self.assertIn("wire version 2, this side speaks version 1", text)

    def test_damage_is_not_another_version(self):
        """A bit of the version flips on the way, in the midst of a session: it goes on."""
        child, peer = self.collector()
        peer.send(frame(WELCOME, message(f1=1, f3=1, f4=4)))
        peer.send(frame(ACK, message(), major=3))
        peer.send(frame(WELCOME, message(f1=1, f3=1, f4=4), major=9))
        acked, kind = 0, None
        while kind != BYE:
            kind, payload = peer.receive()
            if kind == BATCH:
                acked += 1
                peer.send(frame(ACK, message(f1=acked)))
        self.ended(child, 0)


if __name__ == "__main__":
    unittest.main(argv=["versions_test"], verbosity=2)
