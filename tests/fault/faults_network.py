# SPDX-License-Identifier: Apache-2.0
"""Faults of the network between collector and aggregator: the proxy spoils messages, bytes and connections; namespaces are parted."""
import os, socket, subprocess, time

from proxy import Proxy, Spoil

STRIKES = 12  # at most, in one session
OUTAGE_S = 10
PARTITIONS = 4


class Flip(Spoil):
    def message(self, _direction, body):
        if not body or not self.strikes():
            return [body], []
        at = self.chance.randrange(len(body) * 8)
        spoilt = bytearray(body)
        spoilt[at // 8] ^= 1 << at % 8
        return [bytes(spoilt)], []


class Cut(Spoil):
    def message(self, _direction, body):
        return [body[:self.chance.randrange(len(body))] if body and self.strikes() else body], []


class Twice(Spoil):
    def message(self, _direction, body):
        return [body, body] if self.strikes() else [body], []


class Swap(Spoil):
    def message(self, _direction, body):
        return ([], [body]) if self.strikes() else ([body], [])


class Lose(Spoil):
    def message(self, _direction, body):
        return [] if self.strikes() else [body], []


class FlipBytes(Spoil):
    """Below the messages: heads of ZeroMQ's frames, greetings, what CURVE has sealed."""
    reads_messages = False

    def raw(self, _direction, data):
        if not self.strikes():
            return data
        at = self.chance.randrange(len(data) * 8)
        spoilt = bytearray(data)
        spoilt[at // 8] ^= 1 << at % 8
        return bytes(spoilt)


class FlipIdentity(Spoil):
    """One bit of who the collector says it is, in the greeting of its first connection (ZMTP 3.0, the property Identity of READY)."""
    reads_messages = False

    def raw(self, _direction, data):
        at = data.find(b"\x08Identity\0\0\0\x11")  # the aggregator has none
        if at < 0 or not self.strikes():
            return data
        spoilt = bytearray(data)
        spoilt[at + 13 + self.chance.randrange(17)] ^= 1 << self.chance.randrange(8)
        return bytes(spoilt)


class CutBytes(Spoil):
    """A piece of the stream is gone."""
    reads_messages = False

    def raw(self, _direction, data):
        return data[:self.chance.randrange(len(data))] if self.strikes() else data


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def keys(rig):
    """(options of the aggregator, options of the collector)"""
    for name in ("server", "client"):
        subprocess.run([rig.program("wakepath"), "keygen", "--dir", rig.folder, "--host", "any", name], check=True,
                       stdout=subprocess.DEVNULL)
    return (["--key", rig.folder + "/server.key", "--allow", rig.folder + "/client.pub"],
            ["--key", rig.folder + "/client.key", "--server-key", rig.folder + "/server.pub"])


def behind_proxy(rig, spoil, has_keys=False, spool="none"):
    """(proxy, collector) of a session that has begun."""
    bind, connect = keys(rig) if has_keys else (["--insecure"], ["--insecure"])
    port = free_port()
    rig.aggregator(*bind, bind="tcp://127.0.0.1:%d" % port)
    proxy = Proxy(port, spoil)
    return proxy, rig.collector(*connect, connect="tcp://127.0.0.1:%d" % proxy.port, spool=spool)


def spoilt(kind, rate, has_keys=False):
    def fault(rig, chance):
        # What spoils a length in the stream makes one end wait for what never comes, until it connects anew after 20 s.
        spoil = kind(chance, STRIKES if kind.reads_messages else 1, rate)
        proxy, collector = behind_proxy(rig, spoil, has_keys, "none" if kind.reads_messages else rig.spool)
        try:
            rig.delivers(collector)  # both ends may take too long to notice
        finally:
            proxy.close()
        return spoil.struck
    return fault


def resets(rig, chance):
    proxy, collector = behind_proxy(rig, Spoil(chance, 0, 0))
    done = 0
    try:
        for _ in range(STRIKES):
            rig.moment(chance)
            done += proxy.reset() if collector.poll() is None else 0
        rig.ends(collector)
    finally:
        proxy.close()
    return done


def outage(rig, chance):
    """Nobody gets through for ten seconds."""
    proxy, collector = behind_proxy(rig, Spoil(chance, 0, 0), spool=rig.spool)
    try:
        rig.moment(chance, 0.5)
        was_going_on = collector.poll() is None
        proxy.down()
        time.sleep(OUTAGE_S)
        proxy.up()
        rig.delivers(collector)  # one that had said all does not wait for so long
    finally:
        proxy.close()
    return int(was_going_on)


class Spaces:
    """Two network namespaces and the cable between them."""

    def __init__(self, rig):
        self.rig, self.prefix = rig, "wpx%s" % rig.number
        self.here, self.there = self.prefix + "a", self.prefix + "b"
        self.remove()
        self.ip("netns", "add", self.here)
        self.ip("netns", "add", self.there)
        self.ip("link", "add", "eth0", "netns", self.here, "type", "veth", "peer", "name", "eth0", "netns", self.there)
        for space, address in ((self.here, "10.78.0.1/24"), (self.there, "10.78.0.2/24")):
            self.ip("-n", space, "addr", "add", address, "dev", "eth0")
            self.cable(space, "up")

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True)

    def cable(self, space, state):
        self.ip("-n", space, "link", "set", "eth0", state)

    def remove(self):
        for space in (self.here, self.there):
            subprocess.run(["ip", "netns", "delete", space], check=False, stderr=subprocess.DEVNULL)

    def within(self, space):
        return ["ip", "netns", "exec", space]


def partition(rig, chance):
    """The cable between two namespaces is pulled, at the far end, and put back."""
    spaces = Spaces(rig)
    try:
        rig.aggregator("--insecure", bind="tcp://10.78.0.1:7399", before=spaces.within(spaces.here))
        collector = rig.collector("--insecure", connect="tcp://10.78.0.1:7399", spool=rig.spool, before=spaces.within(spaces.there))
        rig.waits("batches in the spool", lambda: rig.spooled() > 0)
        done = 0
        for _ in range(PARTITIONS):
            rig.moment(chance, 0.2)
            if done and collector.poll() is not None:
                break
            done += collector.poll() is None
            spaces.cable(spaces.here, "down")
            time.sleep(chance.uniform(0.5, 3))
            spaces.cable(spaces.here, "up")
        rig.delivers(collector)
    finally:
        spaces.remove()
    return done


# What spoils CURVE's stream ends the connection for up to a minute, each time.
LONG = [("bits of a CURVE stream flipped", spoilt(FlipBytes, 0.02, True)), ("pieces of a CURVE stream lost", spoilt(CutBytes, 0.02, True))]
FAULTS = [("connections reset", resets), ("10 s outage", outage), ("partition between two namespaces", partition),
          ("messages with a flipped bit", spoilt(Flip, 0.1)), ("messages cut short", spoilt(Cut, 0.1)),
          ("messages that come twice", spoilt(Twice, 0.1)), ("messages out of order", spoilt(Swap, 0.1)),
          ("messages lost", spoilt(Lose, 0.1)), ("the identity of a connection flipped", spoilt(FlipIdentity, 1)), ("bits of the stream flipped", spoilt(FlipBytes, 0.02)),
          ("pieces of the stream lost", spoilt(CutBytes, 0.02))]
