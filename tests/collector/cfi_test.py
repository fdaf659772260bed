#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rows that the kernel side unwinds by, for every place in the code of large objects, held against a slow interpreter of
their call frame information (cfi.py): cfi_test.py UNWIND_DUMP FILE..."""
import glob, os, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cfi

DUMP = os.path.abspath(sys.argv[1])
PAGE, FINE = 4096, 256


def objects():
    found = [min(glob.glob(pattern), key=len, default=None) for pattern in
             ("/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/python3.*[0-9]", "/usr/bin/node")]
    return sys.argv[2:] or [os.path.realpath(path) for path in found if path]


def dumped(path):
    """({offset: (cfa, bp)} of all rows, crowded pages, pages)"""
    lines = subprocess.run([DUMP, path], check=True, capture_output=True, text=True).stdout.splitlines()
    crowded, pages = lines.pop().split()[1::2]
    return [tuple(map(int, line.split())) for line in lines], int(crowded), int(pages)


class Cfi(unittest.TestCase):
    def compare(self, path):
        (wanted, code), (rows, crowded, pages) = cfi.rules_of(path), dumped(path)
        self.assertLess(crowded, 0.01 * pages + 1)
        here = {row[0] // PAGE for row in rows}
        wanted_at, rows_at = [row[0] for row in wanted], [row[0] for row in rows]
        # Both are constant between any two of these: to compare there is to compare at every address.
        places = sorted(set(wanted_at) | set(rows_at) | {page * PAGE for page in here})
        compared = missing = 0
        for place, after in zip(places, places[1:] + [places[-1] + 1]):
            if not any(begin <= place < begin + size for begin, size in code):
                continue
            want = cfi.at(wanted, wanted_at, place)
            if place // PAGE not in here:
                missing += (after - place) if want[0] != cfi.NONE else 0
                continue
            got = cfi.at(rows, rows_at, place)
            if got[0] == cfi.NONE and want[0] != cfi.NONE:
                missing += after - place
                continue
            if want[0] in (cfi.NONE, cfi.END, cfi.SIGNAL):
                self.assertEqual(got[0], want[0], f"{path} {place:#x}")
            else:
                self.assertEqual(got, want, f"{path} {place:#x}")
            compared += after - place
        self.assertGreater(compared, 500000, "bytes of code")
        self.assertLessEqual(missing, crowded * FINE + PAGE, "only crowded pages are missing")
        return compared, crowded, pages

    def test_every_place(self):
        self.assertGreaterEqual(len(objects()), 1 if sys.argv[2:] else 3)
        for path in objects():
            with self.subTest(path):
                print(path, "%d bytes compared, %d of %d pages crowded" % self.compare(path), flush=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
