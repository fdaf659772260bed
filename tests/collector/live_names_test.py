#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names in a recording, of programs that make it hard: live_names_test.py BIN_DIR STACKS_FIXTURE JIT_FIXTURE."""
import glob, os, re, shutil, subprocess, sys, tempfile, unittest

BIN, STACKS, JIT = (os.path.abspath(path) for path in sys.argv[1:4])
HERE = os.path.dirname(os.path.abspath(__file__))
ENOUGH = 0.5  # a busy machine learns late how to walk the stacks of a file, and then names are no matter


def record(selector, *command, **options):
    """The folded stacks of the command: [(frames, ns)]."""
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        subprocess.run([f"{BIN}/wakepath", "record", "--quiet", "--out", f"{folder}/site", "--store", store, "--release", "r",
                        "--aggregate", f"main={selector}", "--", *command], check=True, stdout=subprocess.DEVNULL, **options)
        text = subprocess.run([f"{BIN}/wakepath-reporter", "--store", store, "--release", "r", "--aggregate", "main", "--format",
                               "folded"], check=True, capture_output=True, text=True).stdout
    rows = [line.rpartition(" ") for line in text.splitlines()]
    return [(stack.split(";"), int(ns)) for stack, _, ns in rows]


def share(rows, pattern, of=""):
    whole = sum(ns for frames, ns in rows if re.search(of, ";".join(frames)))
    return sum(ns for frames, ns in rows if re.search(pattern, ";".join(frames))) / max(whole, 1)


def python_with_perf():
    """A Python of 3.12 or later that can tell perf what it runs."""
    ask = "import sys; sys.exit(not sys.is_stack_trampoline_active())"
    for python in [shutil.which(f"python3.{minor}") for minor in range(20, 11, -1)] + \
            sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[2-9]*/bin/python3"))):
        if python and subprocess.run([python, "-X", "perf", "-c", ask], capture_output=True, check=False).returncode == 0:
            return python
    return None


class Names(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_a_program_that_deleted_itself(self):
        program = shutil.copy(STACKS, os.path.join(self.folder, "fixture"))
        rows = record("comm=fixture", "/bin/sh", "-c", f'(sleep 0.1; rm {program}) & exec {program} paths 800')
        self.assertGreater(share(rows, r";main;(left|right);middle;inner;", "clock_nanosleep$"), ENOUGH, rows[:5])

    def test_a_program_that_was_replaced(self):
        program = shutil.copy(STACKS, os.path.join(self.folder, "fixture"))
        rows = record("comm=fixture", "/bin/sh", "-c",
                      f'(sleep 0.1; cp /bin/true {program}.new; mv {program}.new {program}) & exec {program} paths 800')
        self.assertGreater(share(rows, r";main;(left|right);middle;inner;", "clock_nanosleep$"), ENOUGH, rows[:5])

    def test_cplusplus_with_what_is_inlined(self):
        program = os.path.join(self.folder, "fixture")
        subprocess.run(["g++", "-O2", "-g", "-o", program, f"{HERE}/names_fixture.cc"], check=True)
        rows = record("command", program, "800")
        self.assertGreater(share(rows, r";main;shop::Till<std::vector<.*>::settle;pause_ms;", "clock_nanosleep$"), ENOUGH, rows[:5])

    def test_debug_files_of_a_server(self):
        """In the sandbox: the program is stripped, and what its functions are called is at a server alone."""
        program, cache = os.path.join(self.folder, "fixture"), os.path.join(self.folder, "cache")
        subprocess.run(["g++", "-O2", "-g", "-Wl,--build-id=sha1", "-o", program, f"{HERE}/names_fixture.cc"], check=True)
        notes = subprocess.run(["readelf", "-n", program], check=True, capture_output=True, text=True).stdout
        place = f"{self.folder}/served/buildid/{re.search(r'Build ID: ([0-9a-f]+)', notes)[1]}"
        os.makedirs(place)
        subprocess.run(["objcopy", "--only-keep-debug", program, f"{place}/debuginfo"], check=True)
        subprocess.run(["strip", program], check=True)
        server = subprocess.Popen([sys.executable, "-u", "-m", "http.server", "-b", "127.0.0.1", "-d", f"{self.folder}/served", "0"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(lambda: (server.kill(), server.wait(), server.stdout.close()))
        url = re.search(r"http://\S+?/", server.stdout.readline())[0]
        environment = dict(os.environ, DEBUGINFOD_CACHE_PATH=cache)
        for flags, has_lines in (["--debuginfod", url], True), ([], False):
            child = subprocess.Popen([program, "800"], env=environment)
            log = subprocess.run([f"{BIN}/wakepath-collector", "--no-config", "--output", "/dev/null", "--overhead-limit", "none", "--log-level",
                                  "debug", "--filter-pid", str(child.pid), "--duration", "4", *flags], check=True, capture_output=True, text=True,
                                 env=environment).stderr
            child.kill()
            child.wait()
            held = re.search(r"functions are known file=\S*/fixture functions=\d+ debug_bytes=(\d+)", log)
            self.assertTrue(held, log)
            self.assertEqual(int(held[1]) > 0, has_lines, log)

    def test_made_code(self):
        rows = record("command", JIT, "400")
        made = r";main;JS:\*made /app/shop.js:7;pause_ms;"
        self.assertGreater(share(rows, made, r"^[^\[]*\[jit_fixture\][^\[]*clock_nanosleep$"), ENOUGH, rows[:5])
        of_child = r"\[jit_fixture\].*\[jit_fixture\].*clock_nanosleep$"  # forked since: its own map has nothing
        self.assertGreater(share(rows, r"\[jit_fixture\].*\[jit_fixture\].*" + made, of_child), ENOUGH, rows[:5])

    def test_made_code_in_another_root(self):
        root = os.path.join(self.folder, "root")
        os.makedirs(f"{root}/tmp")
        rows = record("command", JIT, "400", root)
        self.assertGreater(share(rows, r";main;JS:\*made /app/shop.js:7;pause_ms;", "clock_nanosleep$"), ENOUGH, rows[:5])

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_node(self):
        with open(f"{self.folder}/shop.js", "w", encoding="utf-8") as file:
            file.write("""function settle(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; }
                function shop() { let x = 0; const end = Date.now() + 4000; while (Date.now() < end) x += settle(20000); return x; }
                if (shop() === 0.5) console.log();""")
        rows = record("command", "node", "--perf-basic-prof", "--no-turbo-inlining", f"{self.folder}/shop.js")
        # V8's own frames, where it is a known one, lead; else the map has the names, before V8 11 without a column.
        js = "(?:JS|LazyCompile|Function):[*~^+]?"
        either = rf";shop;settle(;|$)|;{js}shop .*shop\.js:\d+(:\d+)?;{js}settle "
        self.assertGreater(share(rows, either, f";(shop|settle|{js}.*)(;|$)"), ENOUGH, rows[-5:])

    # Callers of the trampoline are seen only where Python itself keeps frame pointers, which it need not.
    @unittest.skipUnless(python_with_perf(), "no Python of 3.12 or later")
    def test_python(self):
        with open(f"{self.folder}/shop.py", "w", encoding="utf-8") as file:
            file.write("import time\ndef settle():\n    time.sleep(0.002)\ndef shop():\n    for i in range(800):\n"
                       "        settle()\nshop()\n")
        python = python_with_perf()
        rows = record("command", python, "-X", "perf", f"{self.folder}/shop.py")
        self.assertGreater(share(rows, r";py::settle:.*/shop\.py;.*;sleep:", "time_sleep.*clock_nanosleep$"), ENOUGH, rows[:5])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
