#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of places in files, held against binutils: names_test.py NAMES_DUMP BIN_DIR."""
import functools, http.server, os, random, shutil, subprocess, sys, tempfile, threading, unittest

DUMP, BIN = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def functions(path):
    """(address, size, name) of each function that nm knows."""
    rows = [line.split(maxsplit=3) for line in run("nm", "-S", "--defined-only", path).splitlines()]
    return [(int(r[0], 16), int(r[1], 16), r[3]) for r in rows if len(r) == 4 and r[2] in "tTW" and int(r[1], 16)]


def names(path, addresses, root=None):
    """For each address its levels, (function, file, line), outermost first."""
    text = run(DUMP, path, *([root] if root else []), input="".join(f"{a:x}\n" for a in addresses))
    levels = [[one.rpartition("@") for one in line.split("\t")] if line else [] for line in text.split("\n")[:-1]]
    return [[(function, *place.rsplit(":", 1)) for function, _, place in level] for level in levels]


def addr2line(path, addresses):
    places = []
    for line in run("addr2line", "-a", "-i", "-f", "-e", path, input="".join(f"{a:x}\n" for a in addresses)).splitlines():
        if line.startswith("0x"):
            places.append([])
        else:
            places[-1].append(line.split(" (discriminator")[0])
    return [[(p[i], *p[i + 1].rsplit(":", 1)) for i in range(0, len(p), 2)][::-1] for p in places]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.built = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.built)
        run("g++", "-O2", "-g", "-Wl,--build-id=sha1", "-o", f"{cls.built}/program", f"{HERE}/names_fixture.cc")

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.program = shutil.copy(f"{self.built}/program", self.folder)

    def test_lines_and_inlining_as_addr2line_has_them(self):
        for path in (self.program, DUMP, os.path.join(BIN, "wakepath-aggregator")):
            known = functions(path)
            random.seed(5)
            addresses = [a + random.randrange(size) for a, size, _ in random.choices(known, k=1500)]
            wrong = [(hex(a), mine, theirs) for a, mine, theirs in zip(addresses, names(path, addresses), addr2line(path, addresses))
                     if theirs[-1][2] not in ("?", "0") and [m[2] for m in mine] != [t[2] for t in theirs]]
            self.assertLess(len(wrong), 20, wrong[:5])

    def test_a_method_and_what_is_inlined_in_it(self):
        start, size, _ = next(f for f in functions(self.program) if "settle" in f[2])
        levels = [tuple((n, os.path.basename(f), line) for n, f, line in place)
                  for place in names(self.program, range(start, start + size))]
        method = "shop::Till<std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, " \
                 "std::allocator<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > > > >::settle"
        self.assertIn(((method, "names_fixture.cc", "20"), ("pause_ms", "names_fixture.cc", "13")), levels)
        self.assertEqual({place[0][0] for place in levels}, {method})

    def build_id(self, path):
        return run("readelf", "-n", path).split("Build ID: ")[1].split()[0]

    def test_separate_debug_file(self):
        known = functions(self.program)
        addresses = [a for a, _, _ in known]
        whole = names(self.program, addresses)
        identity = self.build_id(self.program)
        place = os.path.join(self.folder, "root/usr/lib/debug/.build-id", identity[:2])
        os.makedirs(place)
        run("objcopy", "--only-keep-debug", self.program, f"{place}/{identity[2:]}.debug")
        run("strip", self.program)
        self.assertNotEqual(names(self.program, addresses), whole)
        self.assertEqual(names(self.program, addresses, f"{self.folder}/root"), whole)
        other = os.path.join(self.folder, "other")  # of another build: not believed
        run("g++", "-g", "-Wl,--build-id=sha1", "-o", other, f"{HERE}/names_fixture.cc")
        run("objcopy", "--only-keep-debug", other, f"{place}/{identity[2:]}.debug")
        self.assertNotEqual(names(self.program, addresses, f"{self.folder}/root"), whole)

    def test_debug_file_of_a_server(self):
        """As debuginfod(8) answers: /buildid/ID/debuginfo. Another file than that of the build is not believed."""
        known = functions(self.program)
        addresses = [a for a, _, _ in known]
        whole, identity = names(self.program, addresses), self.build_id(self.program)
        place = f"{self.folder}/served/buildid/{identity}"
        os.makedirs(place)
        run("objcopy", "--only-keep-debug", self.program, f"{place}/debuginfo")
        run("strip", self.program)
        handler = functools.partial(Quiet, directory=f"{self.folder}/served")
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(os.environ.pop, "NAMES_DUMP_URLS")
            self.addCleanup(os.environ.pop, "DEBUGINFOD_CACHE_PATH")
            os.environ["NAMES_DUMP_URLS"] = "http://127.0.0.1:%d/" % server.server_address[1]
            os.environ["DEBUGINFOD_CACHE_PATH"] = f"{self.folder}/cache"
            self.assertEqual(names(self.program, addresses), whole)
            server.shutdown()
        self.assertEqual(names(self.program, addresses), whole, "what was fetched is kept")
        os.environ["DEBUGINFOD_CACHE_PATH"] = f"{self.folder}/cache2"
        self.assertNotEqual(names(self.program, addresses), whole, "the server is gone, and nothing else names it")

    def test_minidebuginfo(self):
        known = [f for f in functions(self.program) if not f[2].startswith("_")] + \
                [f for f in functions(self.program) if "settle" in f[2]]
        mini = os.path.join(self.folder, "mini")
        run("objcopy", "-S", "--remove-section", ".comment", self.program, os.path.join(self.folder, "bare"))
        run("objcopy", "--only-keep-debug", "--strip-debug", self.program, mini)
        run("xz", "-1", "-k", mini)
        bare = os.path.join(self.folder, "bare")
        self.assertEqual([n for n in names(bare, [a for a, _, _ in known]) if n], [])
        run("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", bare)
        for place, (_, _, name) in zip(names(bare, [a for a, _, _ in known]), known):
            self.assertTrue(place, name)
            self.assertIn(place[0][0].split("::")[-1].split("(")[0], name)
        with open(f"{mini}.xz", "r+b") as file:  # damaged: no names, but no harm
            file.seek(os.path.getsize(f"{mini}.xz") // 2)
            file.write(b"\0" * 64)
        run("objcopy", "-S", self.program, bare)
        run("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", bare)
        names(bare, [a for a, _, _ in known])

    def test_a_bomb_of_zeros(self):
        bare = os.path.join(self.folder, "bare")
        run("objcopy", "-S", self.program, bare)
        with open(f"{self.folder}/zeros", "wb") as file:
            file.truncate(1 << 30)
        run("xz", "-1", f"{self.folder}/zeros")
        run("objcopy", "--add-section", f".gnu_debugdata={self.folder}/zeros.xz", bare)
        self.assertEqual(names(bare, [0x1000]), [[]])

    def test_what_a_stripped_program_begins_with(self):
        for flags, code in (([], "_start"), (["-no-pie"], "_start"), (["-static-pie"], "_start"), (["-shared", "-fPIC"], "main")):
            run("g++", "-O2", *flags, "-o", self.program, f"{HERE}/names_fixture.cc")
            start = int(run("readelf", "-h", self.program).split("Entry point address:")[1].split()[0], 16)
            start = start or int(run("readelf", "-SW", self.program).split(" .text ")[1].split()[1], 16)
            run("strip", self.program)
            said = names(self.program, [start, start + 32, start + 48])
            self.assertEqual([place and place[0][0] for place in said[:2]], [code, code], flags)
            self.assertNotIn("_start", [place and place[0][0] for place in said[2:]], flags)
        linker = os.path.realpath("/lib64/ld-linux-x86-64.so.2")
        start = int(run("readelf", "-h", linker).split("Entry point address:")[1].split()[0], 16)
        self.assertEqual(names(linker, [start])[0][0][0], "_start")

    def test_labels_of_hand_written_code(self):
        with open(f"{self.folder}/code.s", "w", encoding="utf-8") as file:
            file.write(""".text
                untyped: nop; nop
                inner: nop
                .type typed, @function
                typed: nop
                jump: nop
                .size typed, . - typed
                behind: nop
                .data
                notcode: .quad 1
                .section .note.GNU-stack,"",@progbits
                """)
        run("gcc", "-shared", "-nostdlib", "-o", self.program, f"{self.folder}/code.s")
        places = {line.split()[2]: int(line.split()[0], 16) for line in run("nm", self.program).splitlines() if line.split()[1] in "td"}
        said = names(self.program, [places["untyped"] + 1, places["inner"], places["typed"], places["jump"], places["behind"]])
        self.assertEqual([place[0][0] for place in said], ["untyped", "inner", "typed", "typed", "behind"])

    def test_a_function_without_size_does_not_lend_its_name(self):
        with open(f"{self.folder}/code.s", "w", encoding="utf-8") as file:
            file.write(""".text
                .globl fill, after
                .type fill, @function
                fill: test %rsi, %rsi; jz 2f
                1: mov %dl, (%rdi); dec %rsi; jnz 1b
                2: xor %eax, %eax; jnz 3f
                ret
                3: mov $1, %eax; jmp after
                .type hidden, @function
                hidden: syscall; nop; ret
                .type after, @function
                after: nop; ret
                .type table, @function
                .globl table
                table: jmp *(%rax)
                nop
                .section .note.GNU-stack,"",@progbits
                """)
        run("gcc", "-shared", "-nostdlib", "-Wl,-Bsymbolic", "-o", self.program, f"{self.folder}/code.s")
        places = {line.split()[2]: int(line.split()[0], 16) for line in run("nm", self.program).splitlines() if line.split()[1] in "tT"}
        asked = [places["fill"], places["hidden"] - 1, places["hidden"], places["hidden"] + 3, places["after"] + 1, places["table"] + 2]
        whole = ["fill", "fill", "hidden", "hidden", "after", "table"]
        self.assertEqual([place[0][0] for place in names(self.program, asked)], whole)
        run("strip", self.program)
        self.assertEqual([place and place[0][0] for place in names(self.program, asked)], ["fill", "fill", [], [], "after", "table"])

    def test_musl_by_its_own_labels(self):
        path = "/lib/x86_64-linux-musl/libc.so"
        self.assertTrue(os.path.exists(path), "no musl (package musl)")
        unsized = {int(line.split()[1], 16): line.split()[7] for line in run("readelf", "-W", "--dyn-syms", path).splitlines()
                   if len(line.split()) == 8 and line.split()[2:4] == ["0", "FUNC"] and line.split()[6] != "UND"}
        code = run("objdump", "-d", "--no-show-raw-insn", f"--start-address={min(unsized):#x}", f"--stop-address={max(unsized) + 512:#x}", path)
        calls = [int(line.split(":")[0], 16) for line in code.splitlines() if line.strip().endswith("syscall")]
        named = {place[0][0] if place else None for place in names(path, [a + 2 for a in calls])}
        self.assertLessEqual(named, {None, "vfork", "clone", "__clone", "sigsetjmp"}, "memset calls nobody; sigsetjmp jumps on to its tail")

    def test_stubs(self):
        for flags in (["-Wl,-z,lazy"], ["-Wl,-z,now"], ["-fcf-protection=none", "-Wl,-z,lazy"]):
            run("g++", "-O2", *flags, "-o", self.program, f"{HERE}/names_fixture.cc")
            text = run("objdump", "-d", "-j", ".plt", "-j", ".plt.sec", "-j", ".plt.got", self.program)
            stubs = [(int(a, 16), n.split("@")[0]) for a, n in (line.split()[:2] for line in text.splitlines() if "@plt>:" in line)
                     for n in [n.strip("<>:")]]
            self.assertTrue([n for _, n in stubs if n == "nanosleep"], text)
            for (address, name), place in zip(stubs, names(self.program, [a + 4 for a, _ in stubs])):
                if place:  # the lazy half of a stub pair has no slot
                    self.assertEqual(place[0][0], f"{name}@plt")
            named = {place[0][0] for place in names(self.program, [a for a, _ in stubs]) if place}
            self.assertIn("nanosleep@plt", named)

    @unittest.skipUnless(shutil.which("rustc"), "no rustc")
    @unittest.skipUnless(shutil.which("go"), "no Go (package golang-go)")
    def test_go_without_symbols(self):
        with open(f"{self.folder}/shop.go", "w", encoding="utf-8") as file:
            file.write("""package main
                type till struct { coins []int }
                //go:noinline
                func (t *till) settle(n int) int { return t.coins[n%len(t.coins)] }
                func main() { t := &till{[]int{3, 1, 2}}; println(t.settle(4)) }""")
        environment = dict(os.environ, GO111MODULE="off")
        for mode in ("exe", "pie"):
            whole, bare = f"{self.folder}/{mode}-whole", f"{self.folder}/{mode}-bare"
            run("go", "build", "-buildmode", mode, "-o", whole, f"{self.folder}/shop.go", env=environment)
            run("go", "build", "-buildmode", mode, "-ldflags=-s -w", "-o", bare, f"{self.folder}/shop.go", env=environment)
            known = [f for f in functions(whole) if not f[2].startswith(("type:", "go:", "runtime.text", "_"))]
            said = names(bare, [address + size // 2 for address, size, _ in known])
            right = [f for f, levels in zip(known, said) if levels and levels[0][0] == f[2].removesuffix(".abi0")]
            self.assertGreater(len(known), 1000)
            self.assertIn("main.(*till).settle", [f[2] for f in right])
            self.assertGreater(len(right) / len(known), 0.99, [(f, l) for f, l in zip(known, said) if f not in right][:9])

    def test_rust(self):
        seen = 0
        for scheme in ("v0", "legacy"):
            made = subprocess.run(["rustc", "-C", f"symbol-mangling-version={scheme}", "-C", "opt-level=1", "-g", "-o", self.program,
                                   f"{HERE}/names_fixture.rs"], capture_output=True, check=False)
            if made.returncode:
                continue  # this compiler knows no such scheme
            start, _, _ = next(f for f in functions(self.program) if "settle" in f[2] and "Till" in f[2])
            self.assertRegex(names(self.program, [start])[0][0][0],
                             r"^<.*shop::Till<alloc::vec::Vec<alloc::string::String>> as .*shop::Settle>::settle$")
            seen += 1
        self.assertTrue(seen, made.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
