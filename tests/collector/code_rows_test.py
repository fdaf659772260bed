#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of code without unwind tables, held against the tables that the compiler makes for the same code: code_rows_test.py UNWIND_DUMP.
But for functions that align their stack: only a table knows how far that moves it."""
import bisect, os, shutil, subprocess, sys, tempfile, unittest

DUMP = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = ["elf/code_flow.c", "elf/elf_symbols.c", "live/file_paths.c", "symbols/jit_map.c", "symbols/naming_thread.c", "perf_script/perf_script_line.c", "host/process_file.c", "unwind/unwind_rows.c",
           "elf/x86_insn.c"]
WITHOUT = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]


def rows(path):
    """Sorted [(offset, cfa, bp)]."""
    text = subprocess.run([DUMP, path], check=True, capture_output=True, text=True).stdout
    return sorted(tuple(int(word) for word in line.split()) for line in text.splitlines() if line[0].isdigit())


def rule_at(table, offset):
    at = bisect.bisect_right(table, (offset, 1 << 20, 0)) - 1
    return table[at][1:] if at >= 0 else (0, 0)


def instructions(path):
    """{offset in .text: function} of a library whose .text is linked at its place in the file."""
    text = subprocess.run(["objdump", "-d", "-j", ".text", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
    found, function = {}, None
    for line in text.splitlines():
        if line.endswith(">:"):
            function = line.split("<")[1][:-2]
        elif line.startswith(" ") and ":" in line and "nop" not in line and "xchg   %ax,%ax" not in line:
            found[int(line.split(":")[0], 16)] = function
    return found


class CodeRows(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, name, *flags):
        path = os.path.join(self.folder, name)
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-w", "-I", ROOT, *flags, "-o", path,
                        *(os.path.join(ROOT, "collector", source) for source in SOURCES)], check=True)
        return path

    def test_the_call_in_clone(self):
        """glibc's table of clone3 ends before its system call, in which who called posix_spawn sleeps."""
        source, path = os.path.join(self.folder, "clone.s"), os.path.join(self.folder, "clone.so")
        with open(source, "w") as file:
            file.write(".globl clone3\nclone3: .cfi_startproc\n mov $435, %eax\n .cfi_endproc\ncall: syscall\n test %rax, %rax\n jl fail\n jz begin\n"
                       " ret\nbegin: .cfi_startproc\n .cfi_undefined rip\n call *%rdx\n hlt\n .cfi_endproc\nfail: .cfi_startproc\n ret\n .cfi_endproc\n"
                       ".globl lone\nlone: syscall\n test %rax, %rax\n nop\n nop\n ret\n .fill 4, 1, 0xcc\n")
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", path, source], check=True)
        table, at = rows(path), {}
        for line in subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout.splitlines():
            at[line.split()[2]] = int(line.split()[0], 16)
        self.assertEqual(rule_at(table, at["call"] + 2), (1 | 8, 0x7fff), "the caller's frame is above the return address")
        self.assertEqual(rule_at(table, at["begin"])[0] & 7, 6, "a new thread has no caller")
        self.assertEqual(rule_at(table, at["lone"] + 2)[0], 0, "nothing is known of others")

    def test_as_the_tables_say(self):
        for flags in (["-O2"], ["-Os", "-fcf-protection=none"], ["-O3", "-march=x86-64-v3"], ["-O1", "-fno-omit-frame-pointer"]):
            with_tables, without = self.build("with.so", *flags), self.build("without.so", *flags, *WITHOUT)
            known, places = instructions(with_tables), instructions(without)
            first, second = min(known), min(places)
            self.assertEqual([at - first for at in known], [at - second for at in places], "the same code")
            if flags != ["-O2"]:
                subprocess.run(["strip", without], check=True)  # most beginnings of functions are to be found, then
            tables, followed = rows(with_tables), rows(without)
            aligned = {function for at, function in known.items() if rule_at(tables, at)[0] & 7 not in (0, 1, 2)}
            own = [(at, rule_at(tables, at), rule_at(followed, at - first + second)) for at, function in known.items() if
                   function not in aligned and not function.startswith(("_", "deregister", "register", "frame_dummy"))]
            told = [(hex(at), table, mine) for at, table, mine in own if mine[0]]
            wrong = [one for one in told if one[1][0] & 7 in (1, 2) and not same(one[1], one[2])]
            print(flags, f"{len(own)} instructions, {len(told) / len(own):.2%} with a rule, {len(wrong)} not as the table says", file=sys.stderr)
            self.assertLess(len(aligned), 3, aligned)
            self.assertGreater(len(own), 4000)
            self.assertGreater(len(told) / len(own), 0.95)
            self.assertLess(len(wrong) / len(told), 0.005, wrong[:9])


def same(table, mine):
    """The same CFA; by sp or by bp is a matter of taste where bp is a frame pointer, and so is what is said of bp in the epilogue."""
    return table == mine or (table[0] & 7 == 2 and mine[0] & 7 == 1 and (table[0] == 18 or table[1] == mine[1])) or table[0] == mine[0]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
