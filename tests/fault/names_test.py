#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""names_test.py BIN [CLASS]: a crash of the machine takes a file that was made or renamed and whose folder was not synced, however often the file itself
was. What is relied on must be found again: names of keys, captures, the spool, the store and checkpoints, seen in what the programs ask of
the kernel (name_shim.c)."""
import glob, os, shutil, subprocess, sys, tempfile, unittest

BIN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
CAPTURE = HERE + "/../proto/corpus_v1_4/recorded.capture"
PATIENCE_S = 120


class Names:
    """What a crash could take at each moment of a journal."""

    def __init__(self, journal, base):
        self.base, self.loose, self.synced, self.early, self.wholes = base, {}, {}, [], []
        with open(journal, encoding="utf-8") as file:
            for at, line in enumerate(file):
                what, _, path = line.rstrip("\n").partition(" ")
                path = os.path.normpath(path)
                getattr(self, what)(path, at)

    def make(self, path, at):
        self.loose[path] = at

    def name(self, path, at):
        self.loose[path] = at

    def sync(self, path, at):
        """Of a folder: its names stay. Of a file: whoever syncs it once more has relied on what was there at the last time."""
        for name in [name for name in self.loose if os.path.dirname(name) == path]:
            del self.loose[name]
        before = self.synced.get(path, -1)
        self.early += [f"{name} when {path} was synced" for name in self.way_to(path) if self.loose.get(name, at) < before]
        self.synced[path] = at

    def whole(self, path, _at):
        self.wholes.append(os.path.relpath(path, self.base))

    def way_to(self, path):
        while path.startswith(self.base + "/"):
            yield path
            path = os.path.dirname(path)

    def lost(self, path):
        return [name for name in self.way_to(path) if name in self.loose]


class Noted(unittest.TestCase):
    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="wp-names-", dir="/var/tmp")
        self.journal = self.base + ".journal"
        self.addCleanup(shutil.rmtree, self.base)
        self.addCleanup(os.unlink, self.journal)
        with open(self.journal, "w", encoding="utf-8"):
            pass
        self.with_shim = dict(os.environ, LD_PRELOAD=BIN + "/libname_shim.so", WP_NAMES=self.journal)

    def run_one(self, name, *words):
        run = subprocess.run([f"{BIN}/{name}", *words], env=self.with_shim, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(run.returncode, 0, run.stderr)

    def stays(self, *patterns):
        """All files of these patterns are found again, and no file was relied on before that."""
        names = Names(self.journal, self.base)
        self.assertEqual(names.early, [])
        for pattern in patterns:
            found = glob.glob(f"{self.base}/{pattern}")
            self.assertTrue(found, pattern)
            for path in found:
                self.assertEqual(names.lost(path), [], path)
        return names

    def synced(self):
        """What was waited for, in its order."""
        with open(self.journal, encoding="utf-8") as file:
            return [os.path.relpath(line[5:-1], self.base) for line in file if line.startswith("sync ")]


class Crash(Noted):
    def test_site(self):
        self.run_one("wakepath-store", "import", CAPTURE, "--into", self.base + "/store")
        site = ["wakepath-reporter", "--no-config", "--quiet", "--store", self.base + "/store", "--out"]
        self.run_one(*site, self.base + "/lazy", "--no-sync")
        self.run_one(*site, self.base + "/site")
        self.assertEqual(Names(self.journal, self.base).wholes, [".site.new"])  # where it is made before it gets its name
        # A crash of the machine may have taken what nobody waited for: it is made again.
        def state(folder):
            with open(f"{self.base}/{folder}/.wakepath-state", "rb") as file:
                return file.read()
        lazy = state("lazy")
        self.run_one(*site, self.base + "/lazy", "--no-sync")
        self.assertEqual(state("lazy"), lazy)
        self.run_one(*site, self.base + "/lazy")
        self.assertNotEqual(state("lazy"), lazy)

    def test_keys(self):
        self.run_one("wakepath", "keygen", "aggregator", "--dir", self.base + "/keys")
        self.stays("keys/*.key", "keys/*.pub")

    def test_capture(self):
        self.run_one("wakepath-collector", "--no-config", "--source", f"perf-script:{HERE}/../perf_script/recorded.txt", "--output", self.base + "/some.capture")
        names = self.stays("some.capture")
        self.assertIn(self.base, names.synced)

    def test_spool(self):
        self.run_one("wakepath-collector", "--no-config", "--source", f"capture:{CAPTURE}", "--connect", f"ipc://{self.base}/nobody", "--spool", self.base + "/spool")
        names = self.stays("spool/*-*/hello", "spool/*-*/*.batches", "spool/*-*/dictionary", "spool/*-*/bye")
        self.assertTrue([path for path in names.synced if path.endswith(".batches")])

    def test_store_and_checkpoints(self):
        down, up = os.pipe()
        aggregator = subprocess.Popen([f"{BIN}/wakepath-aggregator", "--no-config", "--bind", f"ipc://{self.base}/a", "--store", self.base + "/new/store",
                                       "--auto-aggregates", "5", "--history", "1000", "--ready-fd", str(up)], env=self.with_shim, pass_fds=[up], stderr=subprocess.PIPE)
        self.addCleanup(aggregator.stderr.close)
        os.close(up)
        self.assertTrue(os.read(down, 6))
        os.close(down)
        folder = self.base + "/captures"
        os.mkdir(folder)
        subprocess.run([BIN + "/fleetgen", "--out", folder, "--seconds", "12", "--seed", "1", "--release", "v1"], check=True, timeout=60)
        capture = sorted(glob.glob(folder + "/*.capture"))[0]
        subprocess.run([f"{BIN}/wakepath-collector", "--no-config", "--source", f"capture:{capture}", "--connect", f"ipc://{self.base}/a",
                        "--replay-speed", "recorded"], check=True,
                       timeout=PATIENCE_S, stderr=subprocess.DEVNULL)
        aggregator.terminate()
        self.assertEqual(aggregator.wait(PATIENCE_S), 0)
        names = self.stays("new/store/v1/data.mdb")
        self.assertTrue([path for path in names.synced if path.endswith("/data.mdb")])
        self.assertTrue([path for path in names.synced if "/new/store.resume/local/" in path], "a checkpoint")


class Recorded(Noted):
    def test_a_recording_waits_for_the_disk_when_its_store_is_whole(self):
        self.run_one("wakepath", "record", "--quiet", "--out", self.base + "/out", "--", "true")
        synced = self.synced()
        data = [at for at, path in enumerate(synced) if path.endswith("/data.mdb")]
        mark = [at for at, path in enumerate(synced) if "/~recording" in path]
        self.assertEqual((len(data), len(mark)), (1, 1), synced)
        self.assertLess(data, mark)
        self.assertEqual([path for path in synced if path.endswith(".html")], [])

    def test_a_store_of_the_users_is_synced(self):
        self.run_one("wakepath", "record", "--quiet", "--store", self.base + "/store", "--out", self.base + "/out", "--", "true")
        self.assertGreater(len([path for path in self.synced() if path.endswith("/data.mdb")]), 1)


if __name__ == "__main__":
    unittest.main(argv=["names_test", *sys.argv[2:]], verbosity=2)
