#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/whole.py BIN_DIR [--only NAME/...] [--seconds N]: how many walks of user stacks reach the thread's first function, as a table;
asserts nothing. As root; about two minutes. With --seconds: a Rust compiler that nobody has met runs again and again for so long, a line a second.

Each program runs three times under a collector that follows it and what it starts: with no unwind rows on disk (the first time on a
host), so with --learn of the program (as the first `wakepath record` of it is), and with the rows that the first run left. Walks are counted, not time: a stack that repeats is walked once. Why the others ended:
not_yet (a file's rows were not known yet), no_rows (code with neither rows nor a frame pointer), not_code (a return address that is
in no code), unreadable (the stack is paged out, or no stack), too_deep (127 frames)."""
import os, re, shutil, socket, subprocess, sys, tempfile, time, urllib.request

BIN, HERE = os.path.abspath(sys.argv[1]), os.path.dirname(os.path.abspath(__file__))
ZOO = os.path.join(HERE, "..", "collector", "zoo.cc")
CXX = "#include <iostream>\n#include <map>\n#include <string>\nint main() { std::map<std::string, int> m; m[\"a\"] = 1; std::cout << m.size(); }\n"
RUST = "fn main() { let v: Vec<u64> = (0..2000000).map(|x| x * x % 7919).collect(); println!(\"{}\", v.iter().sum::<u64>()); }\n"
GO = ('package main\nimport ("fmt"; "sort"; "time")\nfunc main() {\n for i := 0; i < 40; i++ {\n  v := make([]int, 200000)\n'
      '  for j := range v { v[j] = j * 7919 % 100003 }\n  sort.Ints(v)\n  time.Sleep(10 * time.Millisecond)\n  fmt.Println(v[5])\n }\n}\n')
PYTHON = "import json, re, time\nfor i in range(60):\n json.loads(json.dumps([{'a': k} for k in range(20000)])); time.sleep(0.01)"
NODE = "let n = 0; setInterval(() => { let s = ''; for (let i = 0; i < 200000; i++) s += i % 7; n += s.length; if (n > 1e7) process.exit() }, 5)"
ENDS = ("complete", "not_yet", "no_rows", "not_code", "unreadable", "too_deep")


def programs(folder):
    """{name: shell command}"""
    for name, text in (("a.cc", CXX), ("a.rs", RUST), ("a.go", GO), ("a.py", PYTHON), ("a.js", NODE)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    subprocess.run(["c++", "-std=c++17", "-O2", "-pthread", "-o", f"{folder}/zoo", ZOO], check=True)
    found = {"short commands": "i=0; while [ $i -lt 400 ]; do /bin/true; expr $i + 1 >/dev/null; i=$((i+1)); done",
             "find, sort, tar": f"find /usr/share -type f | sort -r | head -2000 | tar cf - -T - 2>/dev/null | gzip >{folder}/t.gz",
             "C++ that throws": f"timeout 3 {folder}/zoo caught; timeout 2 {folder}/zoo destroyed; true",
             "compiling C++": f"for i in 1 2 3; do c++ -O2 -o {folder}/a.out {folder}/a.cc; done",
             "python": f"/usr/bin/python3 {folder}/a.py"}
    if shutil.which("rustc"):
        found["compiling Rust"] = f"{real_rustc()} -O -o {folder}/rust {folder}/a.rs && {folder}/rust >/dev/null"
    if shutil.which("go"):
        subprocess.run(["go", "build", "-o", f"{folder}/go", f"{folder}/a.go"], check=True, env={**os.environ, "GOCACHE": folder + "/cache"})
        found["Go"] = f"{folder}/go >/dev/null"
    if shutil.which("node"):
        found["node"] = f"node {folder}/a.js"
    if shutil.which("openssl"):
        found["OpenSSL"] = ("timeout 2 openssl speed -seconds 1 sha512; timeout 2 openssl speed -seconds 1 rsa2048; "
                            "for a in chacha20-poly1305 aes-128-gcm; do timeout 2 openssl speed -seconds 1 -evp $a; done")
    return found


def real_rustc():
    """rustup's is another program, which finds out which one is meant."""
    return os.path.join(subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip(), "bin/rustc")


def program_of(command):
    """What `wakepath record` would be told: the first program of the command."""
    words = [word for word in re.split(r"[ ;]+", command) if word not in ("i=0", "while", "[", "for", "i", "in", "1", "2", "3", "do", "timeout")]
    return shutil.which("sh" if command.startswith("i=0") else words[0])


def started(command, cache, *flags):
    """(the command, which waits for a line, and the collector that follows it)"""
    child = subprocess.Popen(["sh", "-c", "read word; " + command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    ready, word = os.pipe()
    collector = subprocess.Popen([os.path.join(BIN, "wakepath-collector"), "--output", "/dev/null", "--overhead-limit", "none", "--unwind-cache",
                                  cache, "--filter-pid", str(child.pid), "--log-level", "debug", "--ready-fd", str(word), *flags],
                                 stderr=subprocess.PIPE, text=True, pass_fds=[word])
    os.close(word)
    if not os.read(ready, 16):
        sys.exit(collector.communicate()[1])
    os.close(ready)
    return child, collector


def walks(command, cache, *flags):
    """{end: walks} of the command and what it starts."""
    child, collector = started(command, cache, *flags)
    child.communicate(b"go\n")
    collector.terminate()
    text = collector.communicate()[1]
    return {end: int(re.search(rf"user stacks .*{end}=(\d+)", text)[1]) for end in ENDS}


def told(port):
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    return {end: int(count) for end, count in re.findall(r'stack_walks_total\{[^}]*="(\w+)"[^}]*\} (\d+)', text)}


def since_the_start(seconds):
    """Nothing is known of the compiler when its first run begins. Metrics are told once a second."""
    with socket.socket() as one, tempfile.TemporaryDirectory() as folder:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
        one.close()
        with open(folder + "/a.rs", "w", encoding="utf-8") as file:
            file.write(RUST)
        child, collector = started(f"while true; do {real_rustc()} -O -o {folder}/rust {folder}/a.rs; done", "none", f"--metrics=127.0.0.1:{port}")
        child.stdin.write(b"go\n")
        child.stdin.flush()
        before = told(port)
        print("| second | walks | whole | not_yet |\n| --- | --- | --- | --- |")
        for second in range(1, seconds + 1):
            time.sleep(1)
            now = told(port)
            new = {end: now[end] - before[end] for end in ENDS}
            print(f"| {second} | {sum(new.values())} | {100 * new['complete'] / max(sum(new.values()), 1):.1f} % | {new['not_yet']} |", flush=True)
            before = now
        os.killpg(child.pid, 9)
        child.wait()
        collector.terminate()
        collector.communicate()


def main():
    if sys.argv[2:3] == ["--seconds"]:
        since_the_start(int(sys.argv[3]))
        return
    only = sys.argv[3].split("/") if sys.argv[2:3] == ["--only"] else None
    print("| program | rows on disk | walks | whole |", " | ".join(ENDS[1:]), "|")
    print("| --- | --- | --- | --- |", " | ".join("---" for _ in ENDS[1:]), "|")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in programs(folder).items():
            if only and name not in only:
                continue
            for when in ("none", "learned", "of the first run"):
                flags = ["--learn", program_of(command)] if when == "learned" else []
                counts = walks(command, os.path.join(folder, "rows " + name) if not flags else "none", *flags)
                total = sum(counts.values())
                print(f"| {name} | {when} | {total} | {100 * counts['complete'] / max(total, 1):.1f} % |",
                      " | ".join(str(counts[end]) for end in ENDS[1:]), "|", flush=True)


if __name__ == "__main__":
    main()
