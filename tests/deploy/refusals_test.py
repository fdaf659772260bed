#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in an operator's hands: wrong words, no privilege, two of one kind, folders that are missing or others', full disks and
ports that are taken. Each is told in a line that says what to do, and nothing is left behind. Usage: refusals_test.py BIN GENERATED SOURCE"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

BIN, _, SOURCE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
RECORDED = os.path.join(SOURCE, "tests/perf_script/recorded.txt")


class RefusalsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wakepath-refusals-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder, True)
        os.chmod(self.folder, 0o755)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run_it(self, line, by=()):
        """(status, output, error) of a line in which @ is this test's folder."""
        words = [*by, *(word.replace("@", self.folder) for word in line.split())]
        words[len(by)] = os.path.join(BIN, words[len(by)])
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False, cwd=self.folder,
                              env={"PATH": os.environ["PATH"], "HOME": self.folder, "LC_ALL": "C"})
        return done.returncode, done.stdout, done.stderr

    def refuses(self, line, status, *said, by=()):
        before = set(os.listdir(self.folder))
        got, output, text = self.run_it(line, by)
        if line != "wakepath status 127.0.0.1:1":  # the state of the daemon is its answer
            self.assertEqual(output, "", line)
        self.assertEqual(got, status, f"{line}: {text}")
        for part in said:
            self.assertIn(part.replace("@", self.folder), text, line)
        self.assertNotIn("Assertion", text)
        self.assertLessEqual(set(os.listdir(self.folder)), before, f"{line} leaves something behind")

    def start(self, line, told):
        words = [word.replace("@", self.folder) for word in line.split()]
        down, up = os.pipe()
        with open(self.path("log"), "ab") as log:
            process = subprocess.Popen([os.path.join(BIN, words[0]), *words[1:], "--ready-fd", str(up)], stderr=log, stdin=subprocess.DEVNULL,
                                       pass_fds=[up], cwd=self.folder)
        os.close(up)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        with os.fdopen(down) as ready:
            self.assertTrue(ready.read(1), told)

    def test_list_of_commands(self):
        """Each on a line of a terminal, where argp breaks none."""
        for words in (["help"], ["--help"]):
            said = subprocess.run([os.path.join(BIN, "wakepath"), *words], capture_output=True, text=True, check=True).stdout
            self.assertLessEqual(max(len(line) for line in said.splitlines()), 79, words)
            self.assertRegex(said, "(?m)^  bisect .* take longer$")

    def test_wrong_words(self):
        for line, said in (
                ("wakepath", "wakepath record -- make -j2"),
                ("wakepath rec", "no sub-command 'rec': did you mean 'record'? `wakepath help` lists them"),
                ("wakepath foo", "no sub-command 'foo'; `wakepath help` lists them"),
                ("wakepath frobnicate", "no sub-command 'frobnicate'; `wakepath help` lists them"),
                ("wakepath record --frequncy 9 -- true", "wakepath record: no option '--frequncy': did you mean '--frequency'?"),
                ("wakepath record --out @/o --jsno=1 -- true", "no option '--jsno': did you mean '--json'?"),
                ("wakepath record --xyzzy -- true", "--xyzzy'\nTry `wakepath record --help'"),
                ("wakepath record --", "no command: give one behind --"),
                ("wakepath record -d 3x", "--duration takes a time from 10ms to 24h, as 30s, 5m or a number of seconds, not '3x'"),
                ("wakepath record -p 0", "--pid takes a whole number from 1 to 4194304, not '0'"),
                ("wakepath record -p 1 -- true", "--pid attaches to what runs already: it takes no CMD"),
                ("wakepath query --stroe x", "no option '--stroe': did you mean '--store'?"),
                ("wakepath check v1 v2", "give the store to read with --store ROOT: there is no wakepath-report/store here"),
                ("wakepath-collector --conect x", "no option '--conect': did you mean '--connect'?"),
                ("wakepath-collector --no-config", "--connect or --output is needed\nTry `wakepath-collector --help'"),
                ("wakepath-aggregator --no-config", "--bind and --store are needed\nTry `wakepath-aggregator --help'"),
                ("wakepath-collector --no-config --connect foo", "(they are ipc:///path or tcp://address:port)"),
                ("wakepath-collector --no-config --connect tcp://127.0.0.1:99999", "a port, a number up to 65535"),
                ("wakepath-aggregator --no-config --store @/s --bind tcp://127.0.0.1:77447 --insecure", "a port, a number up to 65535"),
                ("wakepath-aggregator --no-config --store @/s --bind tcp://127.0.0.1:0", "--key and --allow (`wakepath keygen` makes keys)"),
                ("wakepath-collector --no-config --connect tcp://127.0.0.1:1", "--key and --server-key (`wakepath keygen` makes keys)"),
                ("wakepath-aggregator --no-config --store @/s --bind ipc://@/e --metrics 9470x", "is not ADDRESS:PORT: a port is a number"),
                ("wakepath-collector --no-config --output @/c --ring-size 3", "takes a number from 65536 to 1073741824, not '3'"),
                ("wakepath-collector --no-config --output @/c --ring-size +65536", "takes a number from 65536 to 1073741824, not '+65536'"),
                ("wakepath-collector --no-config --output @/c --spool @/spool --spool-limit +64M", "not '+64M'"),
                ("wakepath-aggregator --no-config --store @/s --bind ipc://@/e --aggregate x=threads", "add one, as comm=NAME,threads"),
                ("wakepath-collector --no-config --output @/c --source tape", "takes bpf, perf-script:FILE or capture:FILE, not 'tape'"),
                ("wakepath-aggregator --no-config --store @/s --bind ipc://@/e --aggregate x=color=red", "'color=red' is not a selector term"),
                ("wakepath-reporter --store @/s", "give --out DIR for the site, --single-file, or a --format to print"),
                ("wakepath-reporter --store @/s --format json --system-window @/w", "--system-window is of the pages: of a site, or of --single-file"),
                ("wakepath-store frob", "there is no command 'frob': ls, cat, stat, verify, "),
                ("wakepath-store ls", "ls needs ROOT[/RELEASE[/PREFIX]]"),
                ("wakepath status 1.2.3.4", "'1.2.3.4' is not ADDRESS:PORT"),
                ("wakepath keygen --host this --shard k2", "--shard and --host: a key is of one of them"),
                ("wakepath-aggregator --no-config --config @/c", "--no-config and --config: give one of them"),
                ("wakepath keygen", "which NAME?")):
            self.refuses(line, 64, said)

    def test_no_privilege(self):
        os.mkdir(self.path("store"), 0o755)
        self.refuses("wakepath record -- true", 1, "needs root: run it with sudo", by=NOBODY)
        self.refuses("wakepath-collector --no-config --output /dev/null", 1, "run as root, or with CAP_BPF and CAP_PERFMON", by=NOBODY)
        self.refuses("wakepath-aggregator --no-config --bind ipc:///run/wakepath-no --store @/store", 1,
                     "cannot write to store '@/store' (run as its owner, or choose another)", by=NOBODY)
        self.refuses("wakepath-aggregator --no-config --bind ipc://@/e --store @/other", 1, "make the folder for this user, or choose another",
                     by=NOBODY)
        os.chmod(self.path("store"), 0o777)
        self.refuses("wakepath-aggregator --no-config --bind ipc:///run/wakepath-no --store @/store --no-resume", 1,
                     "this user may not make a socket there", by=NOBODY)
        os.chmod(self.path("store"), 0o755)
        self.refuses("wakepath-store prune @/store --quota 1M", 1, "as its owner: runuser -u OWNER", by=NOBODY)
        self.refuses("wakepath keygen --dir @ mine", 1, "cannot write '@/mine.key': Permission denied", by=NOBODY)
        self.refuses(f"wakepath-collector --no-config --source perf-script:{RECORDED} --connect ipc://@/e --spool @/spool", 1,
                     "make its folder for this user, or --spool names another, or none", by=NOBODY)

    def test_nothing_there(self):
        self.refuses("wakepath-reporter --store @/none --out @/site", 1, "'@/none'", "`wakepath record --store` make stores")
        self.refuses("wakepath-store ls @/none", 1, "store '@' has no release 'none'")  # an empty folder is a store without releases
        self.refuses("wakepath-store ls /etc/none", 1, "'/etc/none'", "No such file")
        self.refuses("wakepath-aggregator --no-config --bind ipc://@/none/e --store @/s --no-resume", 1, "make the folder of that socket first")
        self.refuses(f"wakepath-aggregator --no-config --bind ipc://@/{'y' * 108} --store @/s --no-resume", 1, "107 characters at most")
        self.refuses("wakepath-aggregator --no-config --bind tcp://192.0.2.1:7447 --insecure --store @/s --no-resume", 1,
                     "this host has no such address; tcp://0.0.0.0:PORT")
        self.refuses("wakepath-aggregator --no-config --bind tcp://127.0.0.1:0 --store @/s --key @/k --allow @/none --no-resume", 1,
                     "put each collector's NAME.pub there")
        self.refuses("wakepath-collector --no-config --source capture:@/none --output @/c", 1, "cannot read the capture '@/none'")
        self.refuses("wakepath-collector --no-config --output @/none/c", 1, "cannot write the capture", "No such file")
        self.refuses("wakepath-collector --no-config --output /dev/full --duration 1", 1, "the disk is full")
        self.refuses("wakepath status 127.0.0.1:1", 1, "wakepath: the daemon at 127.0.0.1:1 is not well: ", "Connection refused")
        self.assertIn("wakepath: no daemon of Wakepath answers here (",
                      self.run_it("wakepath status", ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"])[2])

    def test_what_is_there_is_something_else(self):
        """Each reader of stores and captures: an empty answer to a wrong name would be taken for the truth."""
        os.mkdir(self.path("empty"))
        os.makedirs(self.path("report", "store", "v1"))
        os.mkdir(self.path("notes"))
        for name in ("report/store/v1/data.mdb", "notes/draft~", "notes/text"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("words\n")
        for program in ("wakepath-reporter --out @/site", "wakepath-reporter --format text", "wakepath report --out @/site", "wakepath query",
                        "wakepath query --findings", "wakepath check", "wakepath check v1 v2", "wakepath diff v1 v2", "wakepath-reporter log"):
            for given, said in (("notes", "'@/notes' is not a store: there is no release in it"), ("notes/text", "it is a file, a store is a folder"),
                                ("report", "did you mean '@/report/store'?"), ("none", "No such file"),
                                ("report/store/v1", "is one release of a store: give the folder above it")):
                self.refuses(f"{program} --store @/{given}", 1, said)
        for given, said in (("notes", "is not a store"), ("notes/text", "is not a capture"), ("none", "No such file"),
                            ("empty", "there is no recording in '@/empty'")):
            self.refuses(f"wakepath view @/{given}", 1, said)
        self.refuses("wakepath-collector --no-config --source capture:@/notes --output @/c", 1, "'@/notes' is not a capture")
        self.refuses("wakepath-collector --no-config --source perf-script:@/notes --output @/c", 1, "Is a directory")

    def test_no_room_for_the_pages(self):
        """Nothing is measured twice for that: what was recorded is kept, and the line says where."""
        os.mkdir(self.path("disk"))
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", "mount -t tmpfs -o size=200k none disk && "
                               '"$1/wakepath" record --quiet --out disk/out -- true; echo $?; "$1/wakepath-store" verify disk/out/store', "sh", BIN],
                              cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=200, check=False)
        self.assertIn("what was recorded is in 'disk/out/store' (wakepath-reporter --store makes pages of it)", done.stderr)
        self.assertIn("No space left on device", done.stderr)
        self.assertEqual((done.stdout.splitlines()[0], done.returncode), ("1", 0), done.stdout)

    def test_two_of_one_kind(self):
        self.start("wakepath-aggregator --no-config --bind ipc://@/e --store @/s", "the first aggregator")
        self.start("wakepath-collector --no-config --connect ipc://@/e --spool @/spool --metrics none", "the first collector")
        self.refuses("wakepath-aggregator --no-config --bind ipc://@/e --store @/s2 --shard b", 1,
                     "another aggregator listens there; stop it or choose another")
        self.refuses("wakepath-aggregator --no-config --bind ipc://@/e2 --store @/s", 1, "has a writer already, give this one another --shard")
        self.refuses("wakepath-collector --no-config --connect ipc://@/e --spool @/spool", 1, "give this one its own with --spool, or --spool none")
        self.assertEqual(self.run_it("wakepath keygen --dir @ twice")[0], 0)
        self.refuses("wakepath keygen --dir @ twice", 1, "is there already; --force replaces it")

    def test_ports_are_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            taken = f"127.0.0.1:{other.getsockname()[1]}"
            self.refuses(f"wakepath-aggregator --no-config --bind tcp://{taken} --insecure --store @/s --no-resume", 1,
                         "another program listens there; stop it or choose another")
            self.start(f"wakepath-aggregator --no-config --bind ipc://@/e --store @/s --metrics {taken}", "without metrics it goes on")
        with open(self.path("log"), encoding="utf-8") as file:
            self.assertIn(f"continuing without metrics: cannot serve metrics at {taken}: Address already in use", file.read())


if __name__ == "__main__":
    unittest.main(verbosity=2)
