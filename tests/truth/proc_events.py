# SPDX-License-Identifier: Apache-2.0
"""Births, execs and exits as the kernel tells them (the proc connector, include/uapi/linux/cn_proc.h), with its own times: CLOCK_MONOTONIC.

with Listener() as listener: ...; then listener.processes() has those that were born meanwhile. Root, in the first network
namespace; a kernel with CONFIG_PROC_EVENTS."""
import os
import socket
import struct
import subprocess
import threading
import time

CONNECTOR, PROC, LISTEN, IGNORE = 11, (1, 1), 1, 2
FORK, EXEC, COMM, EXIT = 1, 2, 0x200, 0x80000000
RECEIVE_BUFFER_FORCE = 33  # SO_RCVBUFFORCE
HEADERS = 16 + 20  # nlmsghdr, cn_msg


class Process:
    def __init__(self, pid, parent, born_ns, name):
        self.pid, self.parent, self.born_ns, self.ended_ns = pid, parent, born_ns, None
        self.names, self.exec_ns = [(born_ns, name)], born_ns

    def name_at(self, ns):
        return [name for since, name in self.names if since <= ns][-1]

    def is_alive(self, ns):
        return self.born_ns <= ns and (self.ended_ns is None or ns < self.ended_ns)


class Listener:
    """Names of processes are read as they exec, which a process that lives for a millisecond and more does not escape."""

    def __enter__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, CONNECTOR)
        self.socket.setsockopt(socket.SOL_SOCKET, RECEIVE_BUFFER_FORCE, 1 << 24)
        self.socket.bind((os.getpid(), PROC[0]))
        self.say(LISTEN)
        self.socket.settimeout(0.2)
        self.is_open, self.told = True, []
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_open = False
        self.thread.join()
        self.say(IGNORE)
        self.socket.close()

    def say(self, what):
        message = struct.pack("<IIIIHHI", *PROC, 0, 0, 4, 0, what)
        self.socket.send(struct.pack("<IHHII", 16 + len(message), 3, 0, 0, os.getpid()) + message)

    def listen(self):
        while self.is_open:
            try:
                data = self.socket.recv(1 << 16)
            except TimeoutError:
                continue
            kind, _, at = struct.unpack_from("<IIQ", data, HEADERS)
            self.told.append((at, kind, struct.unpack_from("<4I", data, HEADERS + 16), data[HEADERS + 24:HEADERS + 40]))
            if kind == EXEC:
                self.told[-1] += (self.comm(self.told[-1][2][0]),)

    @staticmethod
    def comm(pid):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                return file.read().rstrip("\n")
        except OSError:
            return "?"

    def processes(self):
        """Those born since, in the order of their births. A pid that comes again would be another process."""
        found = {}
        for at, kind, words, name, *comm in sorted(self.told, key=lambda event: event[0]):
            pid, is_main = (words[2], words[2] == words[3]) if kind == FORK else (words[0], words[0] == words[1])
            if kind == FORK and is_main:
                parent = found.get(words[1])
                found[pid] = Process(pid, words[1], at, parent.name_at(at) if parent else "?")
            elif pid in found and kind == EXEC:
                found[pid].names.append((at, comm[0]))
                found[pid].exec_ns = at
            elif pid in found and kind == COMM and is_main:
                found[pid].names.append((at, name.split(b"\0")[0].decode()))
            elif pid in found and kind == EXIT and is_main:
                found[pid].ended_ns = at
        return list(found.values())


def is_there():
    """Whether this kernel tells."""
    try:
        with Listener() as listener:
            subprocess.run(["true"], check=True)
            end = time.monotonic() + 5
            while not any(event[1] == EXIT for event in listener.told) and time.monotonic() < end:
                time.sleep(0.01)
            return any(event[1] == EXIT for event in listener.told)
    except OSError:
        return False


def deepest(process, processes, at):
    """The youngest living descendant's youngest living one, or itself."""
    while True:
        children = [child for child in processes if child.parent == process.pid and child.is_alive(at)]
        if not children:
            return process
        process = max(children, key=lambda child: child.born_ns)


def descendants(root, processes):
    found = {root.pid}
    for process in processes:  # parents are born before
        if process.parent in found:
            found.add(process.pid)
    return [process for process in processes if process.pid in found and process is not root]


def waited_for(root, processes):
    """{name: ns}: whom a process waited for since its last exec, if it waits for the child that ends next: for that one's youngest living
    descendant, which is itself as long as it has none."""
    begin, end = root.exec_ns, root.ended_ns
    children = sorted((child for child in processes if child.parent == root.pid), key=lambda child: child.ended_ns or end)
    family = descendants(root, processes)
    instants = sorted({begin, end} | {at for process in family for at in (process.born_ns, process.ended_ns or end, *(at for at, _ in process.names))
                                      if begin < at < end})
    spent = {}
    for since, until in zip(instants, instants[1:]):
        nearest = next((child for child in children if (child.ended_ns or end) > since), None)
        who = deepest(nearest, family, since) if nearest and nearest.is_alive(since) else root
        spent[who.name_at(since)] = spent.get(who.name_at(since), 0) + until - since
    return spent
