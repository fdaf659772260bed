#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The user stacks that the kernel side walks, held against gdb's of the same sleeping threads, address by address:
zoo_test.py FACTS_DUMP [TEST...]."""
import collections, json, os, re, shutil, subprocess, sys, tempfile, time, unittest

DUMP, HERE = os.path.abspath(sys.argv[1]), os.path.dirname(os.path.abspath(__file__))
# nanosleep, clock_nanosleep, epoll_wait, epoll_pwait, poll, ppoll, select, pselect6
CALLS = (35, 230, 232, 281, 7, 271, 23, 270)
ASK = """
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    pcs, frame = [], gdb.newest_frame()
    while frame and len(pcs) < 127:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME): # these are on no stack
            pcs.append((frame.pc(), frame.name()))
        frame = frame.older()
    print("STACK", thread.ptid[1], " ".join(f"{pc:x}" for pc, _ in pcs), "NAMES", " ".join(str(name) for _, name in pcs))
"""
RUST = """
use std::{thread, time};
#[inline(never)]
fn rest(depth: u32) -> u32 {
    if depth == 0 { loop { thread::sleep(time::Duration::from_millis(20)); } }
    let below = rest(depth - 1);
    unsafe { std::ptr::read_volatile(&below) + depth }
}
fn main() {
    let all: u32 = [4u32, 5].iter().map(|depth| rest(*depth)).sum();
    std::process::exit(all as i32);
}
"""
PYTHON = "import time\ndef f(n):\n    if n: return f(n - 1) + 1\n    while True: time.sleep(0.02)\nlist(map(f, [5]))"
WAYS = ("plain", "sized", "realigned", "signalled", "sorted", "caught", "destroyed", "threaded", "wide", "wider", "executed", "held", "kept")
LIBRARY = "int call_back(int (*call)(int)) { volatile char room[333]; room[0] = 1; return call(2) + room[0]; }"
LAST = 20
SHARE = 0.9  # of a thread's sleeps: it may be stopped for something else now and then
# On one thread: it would go from one to the other.
GO = ('package main\nimport ("runtime"; "syscall")\nfunc init() { runtime.LockOSThread() }\nfunc rest(n int) int {\n if n > 0 { return rest(n-1) + 1 }\n'
      ' for { t := syscall.Timespec{Nsec: 20000000}; syscall.Nanosleep(&t, nil) }\n}\nfunc main() { rest(5) }\n')
NODE = "setInterval(() => { }, 20)"


def is_resting(stack):
    """Of Go's `rest`: it called itself five times."""
    return max(collections.Counter(stack).values()) == 5


class Sleeps:
    """What the source says of the processes' sleeps: of each thread its last ones, by their stacks, innermost first."""

    def __init__(self, pids, place):
        self.pids, self.place, self.stacks, self.last = set(pids), place, {}, {}

    def take(self, line):
        fact = json.loads(line)
        if "ips" in fact:
            self.stacks[fact["stack_key"]] = tuple(fact["ips"])
        stack = self.stacks.get(fact["stack_key"])
        if stack and fact["d"] - 1 in CALLS:
            self.last.setdefault((fact["pid"], fact["tid"]), collections.deque(maxlen=LAST)).append(stack)

    def are_enough(self):
        """Each process has a thread that sleeps at one place, for long enough that the files on its stack are known."""
        settled = {pid for (pid, _), last in self.last.items() if len(last) == LAST and len(set(last)) == 1 and len(last[0]) > 4
                   and (not self.place or any(ip in self.place for ip in last[0]))}
        return settled == self.pids


def watched(pids, seconds=90, place=None):
    """{tid: [stack]}: when all have settled, or at last. With a place, a range of addresses, they settle below it."""
    dump = subprocess.Popen([DUMP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    wanted = re.compile('"kind":"switch".*"pid":(%s),.*"stack_key":[1-9]' % "|".join(map(str, pids)))
    sleeps, end = Sleeps(pids, place), time.monotonic() + seconds
    for line in dump.stdout:
        if wanted.search(line):
            sleeps.take(line)
            if not dump.stdin.closed and (sleeps.are_enough() or time.monotonic() > end):
                dump.stdin.close()
    dump.stdout.close()
    assert dump.wait() == 0
    return {tid: list(last) for (_, tid), last in sleeps.last.items() if len(last) == LAST}


def asked(pid, folder):
    """{tid: (addresses, names)} as gdb sees them."""
    script = os.path.join(folder, "ask.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(ASK)
    text = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off", "-ex",
                           "set backtrace past-main on", "-ex", "set backtrace past-entry on", "-p", str(pid), "-x", script],
                          capture_output=True, text=True, check=True).stdout
    found = {}
    for line in re.findall("^STACK (.*)$", text, re.M):
        addresses, _, names = line.partition(" NAMES ")
        tid, *addresses = addresses.split()
        found[int(tid)] = [int(address, 16) for address in addresses if int(address, 16)], names  # Go's goexit has none above
    return found


@unittest.skipUnless(shutil.which("gdb"), "no gdb")
class Zoo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def made(self, source, *compiler):
        """A program of that source text."""
        path = os.path.join(self.folder, source[0])
        with open(path, "w", encoding="utf-8") as file:
            file.write(source[1])
        subprocess.run([*compiler, "-o", path + ".out", path], check=True)
        return path + ".out"

    def animals(self):
        """{name: command}"""
        with open(os.path.join(HERE, "zoo.cc"), encoding="utf-8") as file:
            text = file.read()
        zoo = self.made(("zoo.cc", text), "c++", "-std=c++17", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls",
                        "-pthread")
        found = {way: [zoo, way] for way in WAYS}
        library = self.made(("plug.c", LIBRARY), "cc", "-O1", "-shared", "-fPIC", "-fomit-frame-pointer")
        found["loaded"] = [zoo, "loaded", library]
        for name, *flags in (("static", "-static"), ("static pie", "-static-pie", "-fPIE"), ("no pie", "-no-pie", "-fno-pie")):
            program = self.made((name + ".cc", text), "c++", "-std=c++17", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread",
                                "-w", *flags)
            for way in ("plain", "caught"):
                found[f"{name}, {way}"] = [program, way]
        found["python"] = ["/usr/bin/python3", "-c", PYTHON]
        if shutil.which("rustc"):
            found["rust"] = [self.made(("zoo.rs", RUST), "rustc", "-O")]
        if shutil.which("go"):
            found["go"] = [self.made(("zoo.go", GO), "go", "build")]
            # Without .debug_frame gdb is lost; the code is the same as above, at other addresses.
            found["go, stripped"] = [self.made(("bare.go", GO), "go", "build", "-ldflags=-s -w")]
        if shutil.which("node"):
            found["node"] = ["node", "-e", NODE]
        return found

    def compare(self, name, mine, theirs):
        compared = 0
        for tid, (wanted, names) in theirs.items():
            stacks = mine.get(tid)
            if not stacks or (name in ("go", "go linked with C") and "main.rest" not in names):  # its runtime's threads sleep here and there
                continue
            # gdb may have stopped it elsewhere in the loop of the same function: the callers are the same
            # musl has no tables: gdb ends at the code that called main, a walk by rows of the code itself goes on to _start
            end, more = (len(wanted), 1) if name == "musl" else (None, 0)
            agree = sum(list(stack[2:end]) == wanted[2:] and len(stack) == len(wanted) + more for stack in stacks)
            self.assertGreaterEqual(agree, SHARE * LAST, f"{name}\ngdb  {[hex(pc) for pc in wanted]} {names}\n" +
                                    "\n".join(f"mine {[hex(ip) for ip in stack]}" for stack in set(stacks)))
            self.assertGreater(len(wanted), 4, names)
            compared += 1
        self.assertGreater(compared, 0, f"{name} {theirs}")

    def test_all(self):
        animals = {name: subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                   for name, command in self.animals().items()}
        try:
            mine = watched([process.pid for process in animals.values()])
            theirs = {name: asked(process.pid, self.folder) for name, process in animals.items()}
        finally:
            for process in animals.values():
                process.kill()
                process.wait()
        for name, stacks in theirs.items():
            with self.subTest(name):
                if name != "go, stripped":
                    self.compare(name, mine, stacks)
                else:  # as many frames as in the other
                    whole = {len(stack) for tid in theirs["go"] for stack in mine.get(tid, []) if is_resting(stack)}
                    bare = {len(stack) for tid in stacks for stack in mine.get(tid, []) if is_resting(stack)}
                    self.assertTrue(whole & bare, f"{whole} {bare}")
        print("compared", *theirs, file=sys.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
