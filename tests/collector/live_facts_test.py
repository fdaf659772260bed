#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the live source says of workloads whose truth is known: live_facts_test.py FACTS_DUMP FOLDER [NAME...].
LEFT_OUT in the environment names programs that are done without, as on a kernel that does not have them. What is recorded ends
when the workload has, and where it matters who sleeps when, that is asked of the kernel: a busy machine takes longer, no more."""
import ctypes, json, mmap, os, random, select, shutil, signal, socket, struct, subprocess, sys, tempfile, threading, time, unittest

DUMP, FOLDER = sys.argv[1], sys.argv[2]
TASK, TIMER, MESSAGE, BLOCK = 1, 2, 3, 4
RUNNING, INTERRUPTIBLE, UNINTERRUPTIBLE, DEAD = 0, 1, 2, 5
FREEZER = "/sys/fs/cgroup/freezer"
READ, SENDTO, RECVFROM, ACCEPT4 = 0, 44, 45, 288


def record(work, ring=None, is_held=False):
    """Runs work() under the source (its reader held still meanwhile); its result and the facts as they came. Other programs of
    the host are among them, with whatever bytes their names have."""
    left_out = [os.environ["LEFT_OUT"]] if "LEFT_OUT" in os.environ else []
    dump = subprocess.Popen([DUMP] + ([str(ring or 0)] if ring or left_out else []) + left_out, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(dump.stdout))
    first = dump.stderr.readline()
    assert first == "ready\n", first + dump.stderr.read()
    reader.start()
    if is_held:
        dump.send_signal(signal.SIGSTOP)
    try:
        result = work()
    finally:
        dump.send_signal(signal.SIGCONT)
        dump.stdin.close()
        rest = dump.stderr.read()
        reader.join()
    assert dump.wait() == 0, rest
    return result, [json.loads(line) for line in lines]


def wait_asleep(tid, call):
    """Until that thread of ours sleeps in that system call."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with open(f"/proc/self/task/{tid}/syscall", encoding="ascii") as file:
            now = file.read().split()
        with open(f"/proc/self/task/{tid}/stat", encoding="ascii") as file:
            state = file.read().rpartition(")")[2].split()[0]
        if now[0] == str(call) and state == "S":
            return
        time.sleep(0.002)
    raise AssertionError(f"thread {tid} is not in system call {call} but {now}")


def of(facts, kind, **members):
    return [f for f in facts if f["kind"] == kind and all(f.get(k) == v for k, v in members.items())]


def wakings_of(facts, tid, out):
    """The wakings that ended the sleep which began at the switch `out` (a page fault before or after it is another)."""
    end = min((f["t"] for f in of(facts, "switch", other_tid=tid) if f["t"] > out["t"]), default=1 << 63)
    return [f for f in of(facts, "waking", other_tid=tid) if out["t"] <= f["t"] <= end]


def sleeps_of(facts, tid, begin, end):
    """But for those for Python's own lock, which the thread that reads the facts may have (system call 202, futex)."""
    return [f for f in of(facts, "switch", tid=tid) if begin <= f["t"] <= end and f["c"] == INTERRUPTIBLE and f["d"] != 203]


def in_order(facts):
    return sorted((f for f in facts if "t" in f and f["kind"] != "watermark"), key=lambda f: f["t"])


def uring_reads(fd, buffer, size, count):
    """`count` reads of so many bytes, one after the other, by io_uring of one entry; False where that may not be."""
    libc, params = ctypes.CDLL(None, use_errno=True), (ctypes.c_uint32 * 30)()
    ring = libc.syscall(425, 1, params)
    if ring < 0:
        return False
    queue, done, entries = (mmap.mmap(ring, 4096, offset=offset) for offset in (0, 0x8000000, 0x10000000))
    word = lambda area, at, value=None: struct.unpack_from("I", area, at)[0] if value is None else struct.pack_into("I", area, at, value)
    submit, complete = params[10:20], params[20:30]
    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    for i in range(count):
        struct.pack_into("BBHiQQIIQ24x", entries, 0, 22, 0, 0, fd, i * size, address, size, 0, 0)  # IORING_OP_READ
        word(queue, submit[6], 0)
        word(queue, submit[1], word(queue, submit[1]) + 1)
        if libc.syscall(426, ring, 1, 1, 1, None, 0) != 1:  # IORING_ENTER_GETEVENTS
            raise OSError(ctypes.get_errno(), "io_uring_enter")
        assert struct.unpack_from("i", done, complete[5] + 16 * (i & word(done, complete[2])) + 8)[0] == size
        word(done, complete[0], word(done, complete[0]) + 1)
    os.close(ring)
    return True


class Facts(unittest.TestCase):
    def test_sleep(self):
        def work():
            tid = threading.get_native_id()
            begin = time.monotonic_ns()
            time.sleep(0.2)
            return tid, begin, time.monotonic_ns()
        (tid, begin, end), facts = record(work)
        outs = sleeps_of(facts, tid, begin, end)
        self.assertEqual(len(outs), 1)
        self.assertEqual(outs[0]["flags"] & 2, 2, "a call that only sleeps is deliberate")
        self.assertEqual(outs[0]["d"], 231, "clock_nanosleep is system call 230")
        self.assertEqual(outs[0]["stack"], 1)
        wakings = wakings_of(facts, tid, outs[0])
        self.assertEqual([f["c"] for f in wakings], [TIMER])
        self.assertGreaterEqual(wakings[0]["t"] - begin, 200_000_000) # of the call's begin: it may have been kept from its sleep for a while

    @unittest.skipUnless(os.path.isdir(FREEZER), "no freezer of cgroup version 1")
    def test_frozen(self):
        """A process that a cgroup of version 1 freezes is stopped, and does not wait for a CPU."""
        def work():
            group = FREEZER + "/wakepath-live-facts"
            os.makedirs(group, exist_ok=True)
            with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
                try:
                    for name, text in (("cgroup.procs", str(busy.pid)), ("freezer.state", "FROZEN")):
                        time.sleep(0.2)
                        with open(f"{group}/{name}", "w", encoding="ascii") as file:
                            file.write(text)
                    time.sleep(0.3)
                finally:
                    with open(group + "/freezer.state", "w", encoding="ascii") as file:
                        file.write("THAWED")
                    busy.kill()
            os.rmdir(group)
            return busy.pid
        tid, facts = record(work)
        runs = [f for f in in_order(facts) if f["kind"] == "switch" and tid in (f["tid"], f["other_tid"])]
        away = [(b["t"] - a["t"], a["c"]) for a, b in zip(runs, runs[1:]) if a["tid"] == tid and b["other_tid"] == tid]
        self.assertEqual(max(away)[1], UNINTERRUPTIBLE, max(away))

    def test_poll_that_times_out_is_not_deliberate(self):
        def work():
            r, _w = os.pipe()
            tid, begin = threading.get_native_id(), time.monotonic_ns()
            select.select([r], [], [], 0.03)
            return tid, begin, time.monotonic_ns()
        (tid, begin, end), facts = record(work)
        outs = sleeps_of(facts, tid, begin, end)
        self.assertEqual([f["flags"] & 2 for f in outs], [0])
        self.assertEqual([f["c"] for f in wakings_of(facts, tid, outs[0])], [TIMER])

    @unittest.skipUnless(os.uname().machine == "x86_64", "calls are known by number")
    def test_what_is_waited_for(self):
        """Of a call's descriptor at the sleep, of epoll's at the waking: told once each, then by its key."""
        def work():
            pipe, event, one, other = os.pipe(), os.eventfd(0), *socket.socketpair()
            poll = select.epoll()
            poll.register(event, select.EPOLLIN)
            listener = socket.create_server(("127.0.0.1", 0))
            client = socket.create_connection(listener.getsockname())
            server = listener.accept()[0]
            tids = {"port": listener.getsockname()[1]}
            def wait():
                tids["waiter"] = threading.get_native_id()
                for tids["step"], call in enumerate((lambda: os.read(pipe[0], 1), lambda: os.read(pipe[0], 1), lambda: poll.poll(60),
                                                    lambda: one.recv(1), lambda: client.recv(1), lambda: server.recv(1))):
                    call()
            thread = threading.Thread(target=wait)
            thread.start()
            for step, (call, end) in enumerate(((READ, lambda: os.write(pipe[1], b"x")), (READ, lambda: os.write(pipe[1], b"x")),
                              (232, lambda: os.eventfd_write(event, 1)), (RECVFROM, lambda: other.send(b"x")),
                              (RECVFROM, lambda: server.send(b"x")), (RECVFROM, lambda: client.send(b"x")))):
                while tids.get("step") != step:
                    time.sleep(0.002)
                wait_asleep(tids["waiter"], call)
                end()
            thread.join()
            return tids
        tids, facts = record(work)
        names = {f["wait"]: f["name"] for f in of(facts, "wait") if "name" in f}
        outs = [f for f in of(facts, "switch", tid=tids["waiter"]) if f["c"] == INTERRUPTIBLE and f["d"] in (READ + 1, RECVFROM + 1)]
        self.assertEqual([names.get(f.get("wait")) for f in outs],
                         ["pipe", "pipe", "unix", f"tcp 127.0.0.1:{tids['port']}", f"tcp :{tids['port']}"])
        outs = of(facts, "switch", tid=tids["waiter"], c=INTERRUPTIBLE, d=233)
        self.assertEqual([f.get("wait") for f in outs], [None])
        self.assertEqual([names.get(f.get("wait")) for f in wakings_of(facts, tids["waiter"], outs[0])], ["eventfd"])

    def test_files_of_two_file_systems(self):
        """Each file has its own name, whatever the numbers of its device and its inode make together."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        for which in "01":
            os.mkdir(f"{folder}/{which}")
            subprocess.run(["mount", "-t", "ramfs", "none", f"{folder}/{which}"], check=True)  # no generations of inodes, and numbers from one counter
            self.addCleanup(subprocess.run, ["umount", f"{folder}/{which}"], check=True)
        made, found, paths = {}, [], []
        for i in range(10_000):
            path = f"{folder}/{random.randrange(2)}/{i}"
            os.mkfifo(path)
            status = os.stat(path)
            number = status.st_dev ^ status.st_ino
            if number in made:
                paths = [made[number], path]
                break
            made[number] = path
        def work():
            for path in paths:
                fifo = os.open(path, os.O_RDWR)
                thread = threading.Thread(target=lambda: found.append((threading.get_native_id(), os.read(fifo, 1))))
                thread.start()
                time.sleep(0.1)
                os.write(fifo, b"x")
                thread.join()
                os.close(fifo)
        _, facts = record(work)
        names = {f["wait"]: f["name"] for f in of(facts, "wait") if "name" in f}
        self.assertEqual([{names.get(f["wait"]) for f in of(facts, "switch", tid=tid, d=READ + 1)} for tid, _ in found], [{f"pipe {path}"} for path in paths])

    def test_timeouts(self):
        timespec = struct.pack("qq", 0, 30_000_000)
        libc, word = ctypes.CDLL(None, use_errno=True), ctypes.c_int(0)
        r, _w = os.pipe()
        epoll, poll = select.epoll(), select.poll()
        poll.register(r, select.POLLIN)
        held = threading.Lock()
        held.acquire()
        calls = {"poll": (lambda: poll.poll(30), 7), "epoll_wait": (lambda: epoll.poll(0.03), 232), "select": (lambda: select.select([r], [], [], 0.03), 270),
                 "nanosleep": (lambda: time.sleep(0.03), 230), "sigtimedwait": (lambda: signal.sigtimedwait([signal.SIGUSR2], 0.03), 128),
                 "futex": (lambda: libc.syscall(202, ctypes.byref(word), 0, 0, timespec), 202),
                 "futex until": (lambda: held.acquire(timeout=0.03), 202)}
        for name, (call, number) in calls.items():
            def work():
                tid, begin = threading.get_native_id(), time.monotonic_ns()
                call()
                return tid, begin, time.monotonic_ns()
            with self.subTest(name):
                (tid, begin, end), facts = record(work)
                outs = [f for f in of(facts, "switch", tid=tid) if begin <= f["t"] <= end and f["c"] == INTERRUPTIBLE and f["d"] == number + 1]
                self.assertEqual([f["flags"] & 4 for f in outs[:1]], [4], outs)
                until = outs[0]["t"] + outs[0]["a"]
                self.assertLess(abs(until - begin - 30_000_000), outs[0]["t"] - begin + 1_000_000)
                self.assertLessEqual(until, next(f["t"] for f in wakings_of(facts, tid, outs[0])) + outs[0]["t"] - begin)

    def test_pipe_wakes_by_its_writer(self):
        def work():
            r, w = os.pipe()
            tids = {}
            def read():
                tids["reader"] = threading.get_native_id()
                os.read(r, 1)
            thread = threading.Thread(target=read)
            thread.start()
            while "reader" not in tids:
                time.sleep(0.002)
            wait_asleep(tids["reader"], READ)
            tids["writer"] = threading.get_native_id()
            tids["begin"] = time.monotonic_ns()
            os.write(w, b"x")
            tids["end"] = time.monotonic_ns()
            thread.join()
            return tids
        tids, facts = record(work)
        wakings = [f for f in of(facts, "waking", other_tid=tids["reader"]) if tids["begin"] <= f["t"] <= tids["end"]]
        self.assertEqual([(f["c"], f["tid"]) for f in wakings], [(TASK, tids["writer"])])

    def test_block(self):
        def work():
            path = os.path.join(FOLDER, "live_facts.bin")
            with open(path, "wb") as file:
                file.write(os.urandom(1 << 20))
                file.flush()
                os.fsync(file.fileno())
            fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
            buffer = mmap.mmap(-1, 1 << 16)
            tid, begin = threading.get_native_id(), time.monotonic_ns()
            for i in range(8):
                os.preadv(fd, [buffer], i << 16)
            end = time.monotonic_ns()
            os.close(fd)
            os.unlink(path)
            return tid, begin, end, os.path.realpath(path)
        (tid, begin, end, path), facts = record(work)
        issued = {f["b"]: f for f in of(facts, "block_issue", tid=tid) if begin <= f["t"] <= end}
        woken = [f for f in of(facts, "waking", other_tid=tid, c=BLOCK) if begin <= f["t"] <= end]
        self.assertGreaterEqual(len(woken), 1)
        for waking in woken:
            self.assertIn(waking["a"], issued, "the request that woke is one that the thread issued")
            self.assertEqual(waking["d"], issued[waking["a"]]["d"])
        self.assertEqual(sum(f["c"] for f in issued.values()) if len(issued) == 8 else 8 << 16, 8 << 16)
        self.assertEqual({f.get("file") for f in issued.values()}, {path}, "direct reads have their file")
        written = [f for f in of(facts, "block_issue") if f["t"] < begin and f.get("file") == path]
        self.assertGreaterEqual(sum(f["c"] for f in written), 1 << 20, "so has what came from the page cache")
        done = [f["b"] for f in of(facts, "block_complete") if begin <= f["t"]]
        self.assertTrue(set(issued) <= set(done))

    def test_block_by_uring(self):
        def work():
            path = os.path.join(FOLDER, "live_facts.uring")
            with open(path, "wb") as file:
                file.write(os.urandom(1 << 19))
                file.flush()
                os.fsync(file.fileno())
            fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
            tid, begin = threading.get_native_id(), time.monotonic_ns()
            has_read = uring_reads(fd, mmap.mmap(-1, 1 << 16), 1 << 16, 8)
            end = time.monotonic_ns()
            os.close(fd)
            os.unlink(path)
            return has_read, tid, begin, end, os.path.realpath(path)
        (has_read, tid, begin, end, path), facts = record(work)
        if not has_read:
            self.skipTest("io_uring may not be used here")
        # The thread may read more meanwhile: a block of the file system's own, a page of a program.
        told = [(f["c"], f.get("file")) for f in of(facts, "block_issue", tid=tid) if begin <= f["t"] <= end]
        self.assertEqual(sum(size for size, file in told if file == path), 8 << 16, told)

    def test_block_upon_block(self):
        """Who serves a loop device's requests is told."""
        def work():
            path = os.path.join(FOLDER, "live_facts.loop")
            with open(path, "wb") as file:
                file.write(os.urandom(1 << 20))
                file.flush()
                os.fsync(file.fileno())
            if subprocess.call(["losetup", "-f"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
                return None
            device = subprocess.check_output(["losetup", "-f"], text=True).strip()
            subprocess.check_call(["losetup", device, path])
            fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
            number, begin = os.stat(device).st_rdev, time.monotonic_ns()
            for i in range(8):
                os.preadv(fd, [mmap.mmap(-1, 1 << 16)], i << 16)
            end = time.monotonic_ns()
            os.close(fd)
            subprocess.check_call(["losetup", "-d", device])
            os.unlink(path)
            return os.major(number) << 20 | os.minor(number), begin, end
        told, facts = record(work)
        if not told:
            self.skipTest("no loop devices here")
        device, begin, end = told
        issued = [f for f in of(facts, "block_issue", d=device) if begin <= f["t"] <= end]
        served = [f for f in issued if f["flags"] & 64]
        self.assertGreaterEqual(len(issued) - len(served), 8)
        self.assertEqual({f["b"] for f in served}, {f["b"] for f in issued})
        workers = {f["tid"] for f in served}
        self.assertFalse(workers & {0, threading.get_native_id()})
        ended = {f["tid"] for f in of(facts, "block_complete", d=device) if begin <= f["t"] <= end}
        woken = {f["other_tid"] for f in of(facts, "waking", tid=threading.get_native_id()) if begin <= f["t"] <= end}
        self.assertTrue(workers <= woken | ended, "whom the reader gave the work, or who says itself that it is done")

    def test_preemption_and_samples(self):
        def work():
            spin = ["taskset", "-c", "0", "/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"]
            return [p.pid for p in [subprocess.Popen(spin), subprocess.Popen(spin)] if p.wait() == 0]
        pids, facts = record(work)
        for pid in pids:
            pressed = [f for f in of(facts, "switch", tid=pid) if f["flags"] & 1]
            self.assertTrue(len(pressed) > 3 and all(f["c"] == RUNNING for f in pressed))
            self.assertGreater(len(of(facts, "sample", tid=pid)), 10)
        self.assertEqual([f for f in of(facts, "sample") if not f["tid"]], [], "the idle task is not sampled")
        since, names = {}, {f["wait"]: f["name"] for f in of(facts, "wait") if "name" in f}
        told = {(f["c"], names[f["wait"]]) for f in of(facts, "reason") if f["c"] in (2, 3)}
        unlisted = [n for kind, n in told if subprocess.call(["grep", "-qiF", n, "/proc/interrupts" if kind == 2 else "/proc/softirqs"])]
        for f in in_order(facts):
            if f["kind"] == "switch":
                since[f["cpu"]] = f["t"]
            elif f["kind"] == "reason" and f["c"] in (2, 3): # none of it before the CPU came to the thread
                self.assertGreaterEqual(f["t"] - f["a"], since.get(f["b"], 0))
        self.assertTrue((told or "LEFT_OUT" in os.environ) and not unlisted, unlisted)

    def test_chains_are_whole(self):
        def work():
            subprocess.run(["/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do head -c 300000 /dev/urandom | gzip | md5sum; done"],
                           stdout=subprocess.DEVNULL, check=True)
            return {int(tid) for tid in os.listdir("/proc/1/task")}
        hidden, facts = record(work)  # some sandboxes show no switch of the threads of their init
        self.assertEqual(of(facts, "drop"), [])
        last, breaks, seen = {}, 0, 0
        for f in of(in_order(facts), "switch"):
            before = last.get(f["cpu"])
            if before is not None and before != f["tid"] and before not in hidden and f["tid"] not in hidden:
                breaks += 1
            last[f["cpu"]], seen = f["other_tid"], seen + 1
        self.assertGreater(seen, 100)
        self.assertEqual(breaks, 0)

    def test_watermarks_hold(self):
        _, facts = record(lambda: subprocess.run(["ls", "-R", "/usr/share/doc"], stdout=subprocess.DEVNULL))
        mark = 0
        for f in facts:
            if f["kind"] == "watermark":
                self.assertGreaterEqual(f["t"], mark)
                mark = f["t"]
            elif "t" in f and f["kind"] != "mapped":
                self.assertGreaterEqual(f["t"], mark)

    def test_a_full_ring_is_counted(self):
        def work():
            subprocess.run(["/bin/sh", "-c", "find /usr -xdev | head -c 3000000 | cat | cat | cat | cat > /dev/null"], check=True)
        _, facts = record(work, 65536, is_held=True)
        drops = of(facts, "drop")
        self.assertGreater(sum(drop["count"] for drop in drops), 1000)
        for drop in drops:
            self.assertLessEqual(drop["from"], drop["to"])
        self.assertTrue({drop["of"] for drop in drops} >= {1, 2}, "switches and wakings by their own names")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2, warnings="ignore")
