#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The user stacks that the kernel side walks, held against gdb's of the same sleeping threads, address by address:
zoo_test.py FACTS_DUMP [TEST...]."""
import json, os, re, shutil, subprocess, sys, tempfile, threading, unittest

DUMP, HERE = os.path.abspath(sys.argv[1]), os.path.dirname(os.path.abspath(__file__))
CLOCK_NANOSLEEP, EPOLL_WAIT, EPOLL_PWAIT = 230, 232, 281
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
    std::hint::black_box(below) + depth
}
fn main() {
    let all: u32 = [4u32, 5].iter().map(|depth| rest(*depth)).sum();
    std::process::exit(all as i32);
}
"""
PYTHON = "import time\ndef f(n):\n    if n: return f(n - 1) + 1\n    while True: time.sleep(0.02)\nlist(map(f, [5]))"
WAYS = ("plain", "sized", "realigned", "signalled", "sorted", "caught", "destroyed", "threaded")
SHARE = 0.9  # of a thread's sleeps: it may be stopped for something else now and then
GO = ('package main\nimport "syscall"\nfunc rest(n int) int {\n if n > 0 { return rest(n-1) + 1 }\n'
      ' for { t := syscall.Timespec{Nsec: 20000000}; syscall.Nanosleep(&t, nil) }\n}\nfunc main() { rest(5) }\n')
NODE = "setInterval(() => { }, 20)"


def watched(pids, seconds):
    """{tid: {stack, innermost first: how often}} of the processes' sleeps, in the last quarter of the time: files are known then."""
    dump = subprocess.Popen([DUMP, str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines, wanted = [], re.compile('"kind":"switch".*"pid":(%s),' % "|".join(map(str, pids)))
    reader = threading.Thread(target=lambda: lines.extend(line for line in dump.stdout if wanted.search(line)))
    reader.start()
    said = dump.stderr.read()
    reader.join()
    assert dump.wait() == 0, said
    dump.stdout.close()
    dump.stderr.close()
    stacks, found = {}, {}
    switches = [fact for fact in map(json.loads, lines) if fact["stack_key"]]
    for fact in switches:
        if "ips" in fact:
            stacks[fact["stack_key"]] = tuple(fact["ips"])
    late = switches[0]["t"] + (switches[-1]["t"] - switches[0]["t"]) * 3 // 4
    for fact in switches:
        stack = stacks.get(fact["stack_key"])
        if stack and fact["t"] > late and fact["d"] - 1 in (CLOCK_NANOSLEEP, EPOLL_WAIT, EPOLL_PWAIT):
            counts = found.setdefault(fact["tid"], {})
            counts[stack] = counts.get(stack, 0) + 1
    return found


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
        found[int(tid)] = [int(address, 16) for address in addresses], names
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
        subprocess.run([*compiler, "-o", path + ".out", path], check=True, env={**os.environ, "GOCACHE": self.folder + "/cache"})
        return path + ".out"

    def animals(self):
        """{name: command}"""
        with open(os.path.join(HERE, "zoo.cc"), encoding="utf-8") as file:
            zoo = self.made(("zoo.cc", file.read()), "c++", "-std=c++17", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls",
                            "-pthread")
        found = {way: [zoo, way] for way in WAYS}
        found["python"] = ["/usr/bin/python3", "-c", PYTHON]
        if shutil.which("rustc"):
            found["rust"] = [self.made(("zoo.rs", RUST), "rustc", "-O")]
        if shutil.which("go"):
            found["go"] = [self.made(("zoo.go", GO), "go", "build")]
        if shutil.which("node"):
            found["node"] = ["node", "-e", NODE]
        return found

    def compare(self, name, mine, theirs):
        compared = 0
        for tid, (wanted, names) in theirs.items():
            stacks = mine.get(tid, {})
            total = sum(stacks.values())
            if total < 5:
                continue
            # gdb may have stopped it elsewhere in the loop of the same function: the callers are the same
            agree = sum(count for stack, count in stacks.items() if list(stack[2:]) == wanted[2:])
            self.assertGreaterEqual(agree, SHARE * total, f"{name}\ngdb {[hex(pc) for pc in wanted]} {names}\nmine " +
                                    "\n     ".join(f"{count}: {[hex(ip) for ip in stack]}" for stack, count in stacks.items()))
            self.assertGreater(len(wanted), 4, names)
            compared += 1
        self.assertGreater(compared, 0, f"{name} {mine} {theirs}")

    def test_all(self):
        animals = {name: subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                   for name, command in self.animals().items()}
        try:
            mine = watched([process.pid for process in animals.values()], 16) # node is large: its rows take a while
            theirs = {name: asked(process.pid, self.folder) for name, process in animals.items()}
        finally:
            for process in animals.values():
                process.kill()
                process.wait()
        for name, stacks in theirs.items():
            with self.subTest(name):
                self.compare(name, mine, stacks)
        print("compared", *theirs, file=sys.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
