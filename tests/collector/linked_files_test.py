#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files that a program is linked with, held against the loader's own list: linked_files_test.py UNWIND_DUMP."""
import os, re, shutil, stat, subprocess, sys, tempfile, unittest

DUMP = os.path.abspath(sys.argv[1])


def ours(program):
    return subprocess.run([DUMP, "--linked", program], check=True, capture_output=True, text=True).stdout.split()


def loaders(program):
    text = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return {os.path.realpath(path) for path in re.findall(r"(/\S+) \(0x", text)} | {os.path.realpath(program)}


class LinkedFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_as_the_loader(self):
        for name in ("python3", "git", "gdb", "perf", "node", "bash"):
            if shutil.which(name):
                program = os.path.realpath(shutil.which(name))
                with self.subTest(program):
                    self.assertEqual(set(ours(program)), loaders(program))
                    self.assertEqual(ours(program)[0], program)

    def test_beside_the_program(self):
        os.makedirs(f"{self.folder}/bin")
        os.makedirs(f"{self.folder}/lib")
        for name, needs in (("inner", []), ("outer", ["-linner"])):
            subprocess.run(["gcc", "-shared", "-o", f"{self.folder}/lib/lib{name}.so", "-x", "c", "/dev/null", f"-L{self.folder}/lib",
                            "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", *[f"-Wl,{need}" for need in needs]], check=True)
        subprocess.run(["gcc", "-o", f"{self.folder}/bin/program", "-x", "c", "-", f"-L{self.folder}/lib", "-Wl,--no-as-needed", "-Wl,-louter",
                        "-Wl,-rpath,$ORIGIN/../lib", f"-Wl,-rpath-link,{self.folder}/lib"], input="int main(void) { return 0; }", text=True,
                       check=True)
        self.assertEqual(set(ours(f"{self.folder}/bin/program")), loaders(f"{self.folder}/bin/program"))

    def test_scripts_and_what_is_none(self):
        script = f"{self.folder}/script"
        for first, program in (("#!/usr/bin/env -S python3 -u", shutil.which("python3")), ("#! /usr/bin/python3", "/usr/bin/python3")):
            with open(script, "w", encoding="utf-8") as file:
                file.write(first + "\npass\n")
            os.chmod(script, stat.S_IRWXU)
            self.assertEqual(ours(script), ours(os.path.realpath(program)))
        for content in (b"", b"#!", b"#!/usr/bin/env", b"\x7fELF" + bytes(200), os.urandom(4096)):
            with open(script, "wb") as file:
                file.write(content)
            self.assertEqual(ours(script), [])
        self.assertEqual(ours("/no/such/file"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
