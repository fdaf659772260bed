#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the live source says of sockets: sends, arrivals, reads, and whom they wake: live_messages_test.py FACTS_DUMP FOLDER [NAME...]."""
import os, select, socket, sys, threading, time, unittest

from live_facts_test import ACCEPT4, FOLDER, MESSAGE, RECVFROM, SENDTO, TASK, of, record, wait_asleep, wakings_of

ACKNOWLEDGES = 1 << 32


class Messages(unittest.TestCase):
    def test_reads_are_what_was_taken(self):
        """In pieces, each told with where it ends; a look at the queue is none, and neither is what a unix socket brings."""
        def work():
            listener, far, unix = socket.create_server(("127.0.0.1", 0)), socket.socket(), socket.socketpair()
            far.connect(listener.getsockname())
            near = listener.accept()[0]
            far.sendall(bytes(100))
            unix[0].send(b"x")
            unix[1].recv(1)
            taken = [len(near.recv(200, socket.MSG_PEEK)), len(near.recv(40)), len(near.recv(200, socket.MSG_PEEK)), len(near.recv(200))]
            return threading.get_native_id(), listener.getsockname()[1], taken
        (tid, port, taken), facts = record(work)
        self.assertEqual(taken, [100, 40, 60, 60])
        server = [f["key"] for f in of(facts, "socket", protocol=6, local=port) if f["remote"]]
        reads = [f for f in of(facts, "sock_recv", tid=tid) if f["key"] in server]
        end = [f["a"] for f in of(facts, "sock_send", tid=tid)][-1]
        self.assertEqual([(f["a"], f["c"]) for f in reads], [((end - 60) % 2**32, 40), (end, 60)])
        self.assertEqual(len([f for f in of(facts, "sock_send") + of(facts, "sock_recv") if f["tid"] == tid]), 3)

    def test_unix_streams(self):
        """Wakings say to which connection was written; reads, where a thread turns to another one; writes, where they wake nobody and the writer may time out."""
        def work():
            (near, far), (other, other_far) = socket.socketpair(), socket.socketpair()
            near.settimeout(60)
            tids = {"client": threading.get_native_id()}
            def serve():
                tids["server"] = threading.get_native_id()
                for _ in range(3):
                    far.recv(1, socket.MSG_PEEK)
                    far.recv(1)
                    time.sleep(0.1)
                    other_far.recv(1)
                    far.send(b"a")
            thread = threading.Thread(target=serve)
            thread.start()
            for _ in range(3):
                while "server" not in tids:
                    time.sleep(0.002)
                wait_asleep(tids["server"], RECVFROM)
                near.send(b"n")
                wait_asleep(tids["server"], 230)
                other.send(b"o")
                near.recv(1)
            thread.join()
            return tids
        tids, facts = record(work)
        turns = [(f["tid"], f["c"], f["d"]) for f in of(facts, "local") if f["tid"] in tids.values()]
        read = [number for tid, is_read, number in turns if tid == tids["server"] and is_read]
        self.assertEqual(read, read[:2] * 3)
        self.assertEqual(len(set(read)), 2)
        self.assertEqual([turn for turn in turns if turn == (tids["client"], 0, read[1])], [(tids["client"], 0, read[1])] * 3)
        asked = [f["d"] for f in of(facts, "waking", tid=tids["client"], other_tid=tids["server"], c=TASK) if f["d"]]
        self.assertEqual(asked, [read[0]] * 3)
        answers = {f["d"] for f in of(facts, "waking", tid=tids["server"], other_tid=tids["client"], c=TASK)}
        self.assertLessEqual(answers, {0, read[0]}) # 0: for Python's own lock

    def test_tcp(self):
        def work():
            listener = socket.create_server(("127.0.0.1", 0))
            facts = {"port": listener.getsockname()[1], "client": threading.get_native_id()}
            def serve():
                facts["server"] = threading.get_native_id()
                peer, _ = listener.accept()
                while peer.recv(100):
                    wait_asleep(facts["client"], RECVFROM)
                    peer.sendall(b"y" * 50)
                peer.close()
            thread = threading.Thread(target=serve)
            thread.start()
            while "server" not in facts:
                time.sleep(0.002)
            wait_asleep(facts["server"], ACCEPT4)
            client = socket.create_connection(listener.getsockname())
            facts["client_port"] = client.getsockname()[1]
            for _ in range(3):
                wait_asleep(facts["server"], RECVFROM)
                client.sendall(b"hello")
                client.recv(100)
            wait_asleep(facts["server"], RECVFROM)
            client.close()
            thread.join()
            return facts
        truth, facts = record(work)
        ends = {f["local"]: f["key"] for f in of(facts, "socket", protocol=6)
                if {f["local"], f["remote"]} == {truth["port"], truth["client_port"]}}
        self.assertEqual(set(ends), {truth["port"], truth["client_port"]}, "each end is told once")
        openers = {f["local"]: f["opener"] for f in of(facts, "socket", protocol=6) if f["key"] in ends.values()}
        self.assertEqual(openers, {truth["client_port"]: 1, truth["port"]: 2}, "who asked for the connection")
        client, server = ends[truth["client_port"]], ends[truth["port"]]
        sends = of(facts, "sock_send", key=client)
        self.assertEqual([f["c"] for f in sends], [5, 5, 5])
        self.assertEqual([f["a"] for f in of(facts, "sock_recv", key=server)], [f["a"] for f in sends])
        self.assertEqual([f["a"] for f in of(facts, "sock_arrive", key=server)][:3], [f["a"] for f in sends])
        answers = of(facts, "sock_send", key=server)
        self.assertEqual([(f["c"], f["tid"]) for f in answers], [(50, truth["server"])] * 3)
        woken = of(facts, "waking", other_tid=truth["client"], c=MESSAGE)
        self.assertEqual([(f["key"], f["a"]) for f in woken], [(client, f["a"]) for f in answers], "each answer wakes the client")
        self.assertTrue(all(f["flags"] & 2 for f in woken), "over loopback it is the sender's soft interrupt")
        taken = [f["a"] for f in of(facts, "waking", other_tid=truth["server"], c=MESSAGE) if f["key"] == server]
        self.assertTrue({f["a"] for f in sends} <= set(taken), "each request wakes the server")
        connects = of(facts, "sock_state", key=client, c=2)
        self.assertEqual([f["tid"] for f in connects], [truth["client"]])
        begun = {f["key"]: f["a"] for f in of(facts, "sock_state", c=1) if f["key"] in (client, server)}
        self.assertEqual(begun[client] >> 32, begun[server] & 0xffffffff, "both ends know both first numbers")
        self.assertEqual(begun[client] & 0xffffffff, begun[server] >> 32)
        self.assertEqual((begun[client] + 1 + 5) & 0xffffffff, sends[0]["a"])

    def test_what_is_read_after_the_end(self):
        """Who shut down its side first reads the answer of a socket that the kernel has closed, and that has no port any more."""
        def work():
            with socket.create_server(("127.0.0.1", 0)) as listener:
                client = socket.create_connection(listener.getsockname())
                facts = {"port": listener.getsockname()[1], "client_port": client.getsockname()[1]}
                server = listener.accept()[0]
            client.sendall(b"hello")
            client.shutdown(socket.SHUT_WR)
            while server.recv(100):
                pass
            server.sendall(b"done")
            server.close()
            end = time.monotonic() + 60
            while client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 7 and time.monotonic() < end:  # TCP_CLOSE
                time.sleep(0.002)
            facts["read"] = client.recv(100)
            return facts
        truth, facts = record(work)
        self.assertEqual(truth["read"], b"done")
        told = [f for f in of(facts, "socket", protocol=6) if truth["client_port"] in (f["local"], f["remote"]) or truth["port"] == f["remote"]]
        self.assertEqual(len(told), 2, "each end is told once")
        client = next(f["key"] for f in told if f["local"] == truth["client_port"])
        server = next(f["key"] for f in told if f["local"] == truth["port"])
        self.assertEqual([f["a"] for f in of(facts, "sock_recv", key=client)], [f["a"] for f in of(facts, "sock_send", key=server)])

    def test_sendfile(self):
        def work():
            path = os.path.join(FOLDER, "live_facts.txt")
            with open(path, "wb") as file:
                file.write(b"z" * 30000)
            near, far = socket.create_server(("127.0.0.1", 0)), socket.socket()
            far.connect(near.getsockname())
            peer, _ = near.accept()
            with open(path, "rb") as file:
                sent = os.sendfile(peer.fileno(), file.fileno(), 0, 30000)
            got = 0
            while got < sent:
                got += len(far.recv(65536))
            os.unlink(path)
            return threading.get_native_id(), near.getsockname()[1], sent
        (tid, port, sent), facts = record(work)
        server = [f["key"] for f in of(facts, "socket", protocol=6, local=port) if f["remote"]]
        sends = [f for f in of(facts, "sock_send", tid=tid) if f["key"] in server]
        self.assertEqual(sum(f["c"] for f in sends), sent)
        arrived = [f for f in of(facts, "sock_arrive") if f["a"] == sends[-1]["a"]]
        self.assertGreaterEqual(len(arrived), 1, "its last byte arrived where it was sent to")

    def test_sends_are_what_was_handed_over(self):
        """Of small ones, of one that does not find room for all, and of one that has to wait for the reader."""
        def work():
            listener = socket.create_server(("127.0.0.1", 0))
            client = socket.create_connection(listener.getsockname())
            server = listener.accept()[0]
            truth = {"port": listener.getsockname()[1], "tid": threading.get_native_id(), "small": [1, 100, 20000, 3], "larger": []}
            for size in truth["small"]:
                client.sendall(b"x" * size)
            client.setblocking(False)
            for _ in range(3): # the last ones find next to no room
                try:
                    truth["larger"].append(client.send(b"x" * 8000000))
                except BlockingIOError:
                    pass
            client.setblocking(True)
            handed = sum(truth["small"]) + sum(truth["larger"]) + 3000000
            def drain():
                wait_asleep(truth["tid"], SENDTO)
                taken = 0
                while taken < handed:
                    taken += len(server.recv(100000))
            thread = threading.Thread(target=drain)
            thread.start()
            client.sendall(b"x" * 3000000)
            truth["drained"] = time.monotonic_ns()
            thread.join()
            client.sendall(b"end")
            return truth
        truth, facts = record(work)
        client = {f["key"] for f in of(facts, "socket", protocol=6, remote=truth["port"])}
        sends = [f for f in of(facts, "sock_send", tid=truth["tid"]) if f["key"] in client]
        self.assertEqual([f["c"] for f in sends[:4]], truth["small"])
        first = sends[0]["a"] - sends[0]["c"]
        ends = [(f["a"] - first) & 0xffffffff for f in sends]
        self.assertEqual([(end - f["c"]) - before for f, end, before in zip(sends[:4], ends, [0] + ends)], [0] * 4)
        self.assertTrue(all(end - f["c"] <= max(ends[:i], default=0) for i, (f, end) in enumerate(zip(sends, ends))), "none is left out")
        handed = sum(truth["small"]) + sum(truth["larger"])
        self.assertIn(handed, ends, "what found no room was not sent")
        self.assertLessEqual(max(ends), handed + 3000003)
        self.assertEqual([end for f, end in zip(sends, ends) if f["t"] <= truth["drained"]][-1], handed + 3000000)
        self.assertEqual((ends[-1], sends[-1]["c"]), (handed + 3000003, 3))

    def test_udp(self):
        def work():
            here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            here.bind(("127.0.0.1", 0))
            facts = {"receiver": threading.get_native_id()}
            def send():
                facts["sender"] = threading.get_native_id()
                wait_asleep(facts["receiver"], RECVFROM)
                there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                there.sendto(b"abc", here.getsockname())
            thread = threading.Thread(target=send)
            thread.start()
            here.recv(100)
            thread.join()
            return facts
        truth, facts = record(work)
        sends = [f for f in of(facts, "sock_send", tid=truth["sender"]) if f["flags"] & 1]
        self.assertEqual(len(sends), 1)
        woken = of(facts, "waking", other_tid=truth["receiver"], c=MESSAGE)
        self.assertEqual([f["a"] for f in woken], [sends[0]["a"]])

    def test_room(self):
        """Whoever waits for room in a full socket is woken as the other end has read: in a call of its own, in poll and in epoll."""
        def fill(client):
            client.setblocking(False)
            try:
                while True:
                    client.send(bytes(1 << 20))
            except BlockingIOError:
                pass
        def by_poll(client):
            poll = select.poll()
            poll.register(client, select.POLLOUT)
            poll.poll()
        def by_epoll(client):
            with select.epoll() as epoll:
                epoll.register(client, select.EPOLLOUT)
                epoll.poll()
        def by_send(client):
            client.setblocking(True)
            client.send(b"x")
        waits = {SENDTO: by_send, 7: by_poll, 232: by_epoll}
        def work():
            listener, tid, begins = socket.create_server(("127.0.0.1", 0)), threading.get_native_id(), {}
            for number, wait in waits.items():
                with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as server:
                    fill(client)
                    def drain():
                        wait_asleep(tid, number)
                        server.settimeout(0.2)
                        try:
                            while server.recv(1 << 20):
                                pass
                        except TimeoutError:
                            pass
                    thread = threading.Thread(target=drain)
                    thread.start()
                    begins[number] = time.monotonic_ns(), client.getsockname()[1]
                    wait(client)
                    thread.join()
            return tid, begins
        (tid, begins), facts = record(work)
        for number, (begin, port) in begins.items():
            outs = [f for f in of(facts, "switch", tid=tid, d=number + 1) if f["t"] > begin]
            waking = next(waking for out in outs for waking in wakings_of(facts, tid, out)) # it may be preempted before it sleeps
            keys = {f["key"] for f in of(facts, "socket", protocol=6, local=port)}
            self.assertEqual(waking["c"], MESSAGE, number)
            self.assertTrue(waking["a"] & ACKNOWLEDGES, waking)
            self.assertIn(waking["d"], keys, number)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2, warnings="ignore")
