#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rows that the kernel side unwinds by, for every place in the code of large objects, held against a slow interpreter of
their call frame information (cfi.py): cfi_test.py UNWIND_DUMP FILE..."""
import bisect, glob, os, shutil, subprocess, sys, tempfile, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cfi

DUMP = os.path.abspath(sys.argv[1])
PAGE, FINE = 4096, 256
LARGE, FEW = 500000, 128 # bytes of code at least; at most
PATTERNS = ["/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/python3.*[0-9]",
            "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"]
if os.environ.get("WP_LONG"): # tests/more.sh: six times the others together
    PATTERNS += ["/usr/bin/node", "/usr/lib/x86_64-linux-gnu/libnode.so.*"]


def objects():
    found = [min(glob.glob(pattern), key=len, default=None) for pattern in PATTERNS]
    # Debian's node is a few instructions before a library
    return sys.argv[2:] or [os.path.realpath(path) for path in found if path and os.path.getsize(path) > LARGE]


def dumped(path):
    """({offset: (cfa, bp)} of all rows, crowded pages, pages)"""
    lines = subprocess.run([DUMP, path], check=True, capture_output=True, text=True).stdout.splitlines()
    crowded, pages = lines.pop().split()[1::2]
    return [tuple(map(int, line.split())) for line in lines], int(crowded), int(pages)


class Cfi(unittest.TestCase):
    def compare(self, path):
        (wanted, code), (rows, crowded, pages) = cfi.rules_of(path), dumped(path)
        described = [row[0] for row in wanted if row[1] != cfi.NONE] # of a section without any code_rows_test.py has what is said
        silent = [(begin, size) for _, begin, size in cfi.Elf(path).sections.values()
                  if bisect.bisect_left(described, begin) == bisect.bisect_left(described, begin + size)]
        self.assertLess(crowded, 0.01 * pages + 1)
        here = {row[0] // PAGE for row in rows}
        wanted_at, rows_at = [row[0] for row in wanted], [row[0] for row in rows]
        # Both are constant between any two of these: to compare there is to compare at every address.
        places = sorted(set(wanted_at) | set(rows_at) | {page * PAGE for page in here})
        compared = missing = added = 0
        for place, after in zip(places, places[1:] + [places[-1] + 1]):
            if not any(begin <= place < begin + size for begin, size in code) or any(begin <= place < begin + size for begin, size in silent):
                continue
            want = cfi.at(wanted, wanted_at, place)
            if place // PAGE not in here:
                missing += (after - place) if want[0] != cfi.NONE else 0
                continue
            got = cfi.at(rows, rows_at, place)
            if got[0] == cfi.NONE and want[0] != cfi.NONE:
                missing += after - place
                continue
            if want[0] == cfi.NONE and got[0] != cfi.NONE: # glibc's clone and clone3 end theirs before the system call
                added += after - place
                continue
            if want[0] in (cfi.NONE, cfi.END, cfi.SIGNAL):
                self.assertEqual(got[0], want[0], f"{path} {place:#x}")
            else:
                self.assertEqual(got, want, f"{path} {place:#x}")
            compared += after - place
        self.assertGreater(compared, LARGE, "bytes of code")
        self.assertLess(added, FEW, "bytes of code that have no rules, and rows by their instructions")
        self.assertLessEqual(missing, crowded * FINE + PAGE, "only crowded pages are missing")
        return compared, crowded, pages

    @unittest.skipUnless(shutil.which("go"), "no go")
    def test_go_without_its_symbols(self):
        """What is left of a Go program's frames by strip says the same of every place as its .debug_frame did; also of one that is linked with C."""
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/a.go", "w", encoding="utf-8") as file:
                file.write('package main\nimport "fmt"\nfunc main() { fmt.Println("here") }\n')
            for way in ("-ldflags=-linkmode=internal", "-ldflags=-linkmode=external", "-buildmode=pie"):
                subprocess.run(["go", "build", way, "-o", folder + "/whole", folder + "/a.go"], check=True)
                subprocess.run(["strip", "-o", folder + "/bare", folder + "/whole"], check=True)
                whole, bare = dumped(folder + "/whole")[0], dumped(folder + "/bare")[0]
                whole_at, bare_at = [row[0] for row in whole], [row[0] for row in bare]
                said = 0
                for place, after in zip(whole_at, whole_at[1:]):
                    want = cfi.at(whole, whole_at, place)
                    if want[0] == cfi.NONE:
                        continue
                    for at in [place] + [at for at in bare_at[bisect.bisect(bare_at, place):bisect.bisect_left(bare_at, after)]]:
                        self.assertEqual(cfi.at(bare, bare_at, at), want, f"{way} {at:#x}")
                    said += after - place
                self.assertGreater(said, 300000, way)

    def test_every_place(self):
        self.assertGreaterEqual(len(objects()), 1 if sys.argv[2:] else 3)
        for path in objects():
            with self.subTest(path):
                print(path, "%d bytes compared, %d of %d pages crowded" % self.compare(path), flush=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
