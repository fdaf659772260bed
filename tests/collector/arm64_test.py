#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What there is of arm64 without such a machine: the programs are compiled for it, and the rows of code for it are those that its
frames ask for: arm64_test.py UNWIND_DUMP TOP."""
import os, shutil, subprocess, sys, tempfile, unittest

DUMP, TOP = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SP, BP, END, LINK, SAME = 1, 2, 6, 7, 0x7FFF  # enum wp_cfa, WP_BP_SAME
CODE = """
 .text
 .globl leaf, plain, framed, first
 .type leaf, %function
leaf: .cfi_startproc
 add x0, x0, 1
 sub sp, sp, 48
 .cfi_def_cfa_offset 48
 add sp, sp, 48
 .cfi_def_cfa_offset 0
 ret
 .cfi_endproc
plain: .cfi_startproc
 stp x29, x30, [sp, -32]!
 .cfi_def_cfa_offset 32
 .cfi_offset 29, -32
 .cfi_offset 30, -24
 mov x29, sp
 .cfi_def_cfa_register 29
 bl leaf
 ldp x29, x30, [sp], 32
 .cfi_restore 30
 .cfi_restore 29
 .cfi_def_cfa 31, 0
 ret
 .cfi_endproc
apart: .cfi_startproc
 str x30, [sp, -16]!
 .cfi_def_cfa_offset 16
 .cfi_offset 30, -16
 ret
 .cfi_endproc
first: .cfi_startproc
 .cfi_undefined 30
 nop
 ret
 .cfi_endproc
"""
WANTED = [(0, LINK, SAME), (8, 48 | LINK, SAME), (12, LINK, SAME),  # leaf, up to the beginning of plain
          (20, 32 | SP, -4), (24, 32 | BP, -4), (32, LINK, SAME),   # plain, up to the beginning of apart
          (40, 0, SAME),                                            # apart: its caller is where no row can say
          (44, END, SAME)]


class Arm64(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_programs_compile(self):
        made = os.path.join(self.folder, "wakepath.bpf.o")
        multiarch = subprocess.run(["cc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
        subprocess.run(["clang", "-O2", "-g", "-target", "bpf", "-D__TARGET_ARCH_arm64", "-Wall", "-Werror", "-Wno-unused-function", "-I" + TOP,
                        "-I/usr/include/" + multiarch, "-c", TOP + "/collector/bpf/wakepath.bpf.c", "-o", made], check=True)
        self.assertGreater(os.path.getsize(made), 100000)

    def test_rows(self):
        source, object_, library = (os.path.join(self.folder, name) for name in ("a.s", "a.o", "a.so"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(CODE)
        subprocess.run(["aarch64-linux-gnu-as", "-o", object_, source], check=True)
        subprocess.run(["aarch64-linux-gnu-ld", "-shared", "--eh-frame-hdr", "-o", library, object_], check=True)
        lines = subprocess.run([DUMP, library, "183"], check=True, capture_output=True, text=True).stdout.splitlines()[:-1]
        rows = [tuple(map(int, line.split())) for line in lines]
        begin = rows[0][0]
        self.assertEqual([(at - begin, cfa, bp) for at, cfa, bp in rows][:len(WANTED)], WANTED)

    def test_this_machine_refuses_them(self):
        source, object_ = (os.path.join(self.folder, name) for name in ("a.s", "a.o"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(CODE)
        subprocess.run(["aarch64-linux-gnu-as", "-o", object_, source], check=True)
        done = subprocess.run([DUMP, object_], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("of this machine", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
