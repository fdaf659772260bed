#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the kit: what common/ has, and is not written again elsewhere.

    kit.py TREE          exits 1 and prints one line a breach
    kit.py --self-test   plants each kind of breach in a copy of nothing and wants it found
"""
import re
import sys

import arrows
import c_source

# Files that resize memory themselves, for arrays that are more than rows in order (rings, bits, pages) or grow otherwise
# than by doubling. Everything else grows by common/array.h. The list gets shorter only.
RESIZERS = {
    "aggregator/timeline/blockops.c", "aggregator/timeline/slices.c", "collector/batch/event_queue.c", "common/array.c",
    "common/buffer.c", "common/idtable.c", "storage/report/report_read.c", "storage/report/report_series.c",
}
RESIZING_ROOMS = ("aggregator/account/", "aggregator/explain/")


def resizing(texts):
    resizes = {name for name, code in texts.items() if re.search(r"\brealloc(array)?\s*\(", code)}
    for name in sorted(resizes - RESIZERS):
        if not name.startswith(RESIZING_ROOMS):
            yield f"{name}: resizes memory by hand: common/array.h does it"
    for name in sorted(RESIZERS & set(texts) - resizes):
        yield f"{name}: resizes nothing, and is still among the RESIZERS"


# What is written out elsewhere, and where it stands; the rooms above have their own until they use these.
CONSTANTS = (
    (re.compile(r"(?<![\w.])[1-9]\d*0{9}(?:u|l)*(?![\w.])"), "common/clock.h", "nanoseconds are multiples of WP_NS_PER_S"),
    (re.compile(r"\bchar\b[^;\n]*\[129\]"), "common/path.h", "an id's room is WP_ID_ROOM"),
    (re.compile(r"\bclock_gettime\s*\("), "common/clock.c", "common/clock.h reads clocks"),
)
OTHER_NUMBERS = {
    "storage/text/json_parts.c": "[129]",        # 64 bytes in hexadecimal digits
    "collector/host/test_clock.c": "1000000000", # milliseconds
    "collector/perf_script/perf_script_line.c": "4000000000", # seconds
    "aggregator/daemon/options.c": "2000000000", # bytes
}


def constants(texts):
    for name, code in texts.items():
        for pattern, home, said in CONSTANTS:
            if name != home and not name.startswith(RESIZING_ROOMS):
                for match in pattern.finditer(code):
                    if OTHER_NUMBERS.get(name, "none") not in match[0]:
                        yield f"{name}: '{match[0]}': {said}"


CHECKS = (resizing, constants)


def check(tree, names):
    texts = {name: c_source.code_of(arrows.read(tree, name)) for name in names if arrows.is_source(name)}
    return [line for one in CHECKS for line in one(texts)]


# files, and a part of the breach that must be reported; None: must be clean
PLANTS = (
    ({"cli/a.c": "void *wp_a(void *p)\n{\n    return realloc(p, 2);\n}\n"}, "cli/a.c: resizes memory by hand"),
    ({"common/array.c": "int wp_a;\n"}, "still among the RESIZERS"),
    ({"cli/a.c": "#define A_NS 10000000000u\n"}, "multiples of WP_NS_PER_S"),
    ({"cli/a.h": "struct wp_a {\n    char b[129];\n};\n"}, "WP_ID_ROOM"),
    ({"cli/a.c": "int wp_a(void)\n{\n    return clock_gettime(1, 0);\n}\n"}, "common/clock.h reads clocks"),
    ({"cli/a.c": "int wp_a; /* realloc(p, 2) */\n"}, None),
)


def main():
    if sys.argv[1:] == ["--self-test"]:
        found = arrows.self_test(PLANTS, check)
    else:
        found = check(sys.argv[1], arrows.files_of(sys.argv[1]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
