# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy between collector and aggregator that knows ZeroMQ's framing (ZMTP 3.0, RFC 23) well enough to spoil single messages:
what it changes are whole messages that arrive, not the connection. Or it spoils the bytes themselves, and the connection with them."""
import select, socket, struct, threading

GREETING = 64
COMMAND = 4
LONG = 2


class Reset(Exception):
    """The connection is to be reset."""


class Cable:
    """One connection of the proxy: two sockets, a thread that carries in both directions."""

    def __init__(self, proxy, near, far):
        self.proxy, self.ends = proxy, {near: (far, "up"), far: (near, "down")}
        self.pending = {near: b"", far: b""}
        self.greeting = {near: GREETING, far: GREETING}  # bytes of it still to come; each side answers the other's beginning
        self.held = {near: [], far: []}  # messages that go behind the next one
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            while True:
                ready = select.select(list(self.ends), [], [], 0.2)[0]
                if not ready:
                    for end, held in self.held.items():
                        self.send(end, held)
                        held.clear()
                for end in ready:
                    data = end.recv(65536)
                    if not data:
                        return
                    self.carry(end, data)
        except (OSError, Reset, ValueError):
            pass
        finally:
            self.cut()

    def cut(self):
        """Both sides see a reset."""
        for end in self.ends:
            try:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.close()
            except OSError:
                pass

    def carry(self, end, data):
        other, direction = self.ends[end]
        data = self.proxy.spoil.raw(direction, data)
        if not self.proxy.spoil.reads_messages:
            other.sendall(data)
            return
        greeting = data[:self.greeting[end]]
        self.greeting[end] -= len(greeting)
        other.sendall(greeting)
        self.pending[end] += data[len(greeting):]
        while True:
            message = self.next_message(end)
            if message is None:
                return
            flags, body = message
            if flags & COMMAND:
                self.send(end, [body], flags)
                continue
            passed, late = self.proxy.spoil.message(direction, body)
            self.send(end, passed)
            if passed:
                self.send(end, self.held[end])
                self.held[end].clear()
            self.held[end] += late

    def next_message(self, end):
        """(flags, body), or None: it is not whole yet."""
        data = self.pending[end]
        if len(data) < 2 or (data[0] & LONG and len(data) < 9):
            return None
        size, head = (struct.unpack(">Q", data[1:9])[0], 9) if data[0] & LONG else (data[1], 2)
        if len(data) < head + size:
            return None
        self.pending[end] = data[head + size:]
        return data[0], data[head:head + size]

    def send(self, end, bodies, flags=0):
        for body in bodies:
            head = struct.pack(">BQ", flags | LONG, len(body)) if len(body) > 255 else bytes([flags & ~LONG, len(body)])
            self.ends[end][0].sendall(head + body)


class Proxy:
    """Listens on a port of its own while it is `up` and carries to the target port."""

    def __init__(self, target, spoil):
        self.target, self.spoil, self.cables, self.listener = target, spoil, [], None
        self.port, self.is_closed = 0, False
        self.up()

    def up(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(16)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                if listener.fileno() < 0 or self.listener is not listener:
                    return
                near.close()  # nobody behind us
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.cables.append(Cable(self, near, far))

    def reset(self):
        """All connections are reset; new ones may come at once."""
        cables, self.cables = self.cables, []
        for cable in cables:
            for end in cable.ends:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            cable.thread.join()
        return len(cables)

    def down(self):
        """Nobody gets through any more."""
        listener, self.listener = self.listener, None
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        self.reset()

    def close(self):
        if self.listener:
            self.down()


class Spoil:
    """Spoils nothing. What a fault is is what it overrides; `left`: how often it may still strike."""
    reads_messages = True

    def __init__(self, chance, strikes, rate):
        self.chance, self.left, self.rate, self.struck = chance, strikes, rate, 0

    def strikes(self):
        if self.left <= 0 or self.chance.random() >= self.rate:
            return False
        self.left -= 1
        self.struck += 1
        return True

    def raw(self, _direction, data):
        return data

    def message(self, _direction, body):
        """(what goes on now, what goes behind the next message)"""
        return [body], []
