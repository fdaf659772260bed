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
    "aggregator/net/arrivals.c", "collector/batch/event_queue.c", "common/array.c",
    "common/buffer.c", "common/idtable.c", "common/large.c", "storage/report/report_read.c", "storage/report/report_series.c",
}


def resizing(texts):
    resizes = {name for name, code in texts.items() if re.search(r"\brealloc(array)?\s*\(", code)}
    for name in sorted(resizes - RESIZERS):
        yield f"{name}: resizes memory by hand: common/array.h does it"
    for name in sorted(RESIZERS & set(texts) - resizes):
        yield f"{name}: resizes nothing, and is still among the RESIZERS"


# What is written out elsewhere, and where it stands.
CONSTANTS = (
    (re.compile(r"(?<![\w.])[1-9]\d*0{9}(?:u|l)*(?![\w.])"), "common/clock.h", "nanoseconds are multiples of WP_NS_PER_S"),
    (re.compile(r"\bchar\b[^;\n]*\[129\]"), "common/path.h", "an id's room is WP_ID_ROOM"),
    (re.compile(r"\bclock_gettime\s*\("), "common/clock.c", "common/clock.h reads clocks"),
    (re.compile(r"\blow = mid\w* \+ 1;"), "common/array.h", "WP_LOWER_BOUND searches sorted rows"),
)
OTHER_NUMBERS = {
    "collector/host/test_clock.c": "1000000000", # milliseconds
    "collector/perf_script/perf_script_line.c": "4000000000", # seconds
    "aggregator/daemon/options.c": "2000000000", # bytes
}


def constants(texts):
    for name, code in texts.items():
        for pattern, home, said in CONSTANTS:
            if name != home:
                for match in pattern.finditer(code):
                    if OTHER_NUMBERS.get(name, "none") not in match[0]:
                        yield f"{name}: '{match[0]}': {said}"


# Who writes JSON's punctuation: one line of numbers, and calls of the pages' scripts (JavaScript, not JSON).
PUNCTUATION = {
    "collector/daemon/collector.c", "collector/daemon/replay.c", "collector/host/podman_pods.c", "common/config_file.c",
    "reporter/data/exemplar_data.c", "reporter/data/origin_data.c", "reporter/data/time_data.c", "reporter/data/view_data.c",
    "reporter/display/number_column.c", "reporter/display/view_names.c", "reporter/window/window_data.c", "storage/tool/tool_dump.c",
}


def punctuation(raws):
    for name, text in raws.items():
        is_written = name.endswith(".c") and re.search(r'\\" ?:|\{\\"|\bjson_object_to_json_string(?!_ext\(value, )', text)
        if is_written and name not in PUNCTUATION:
            yield f"{name}: writes JSON by hand: common/json.h does it"
        if not is_written and name in PUNCTUATION:
            yield f"{name}: writes no JSON, and is still in PUNCTUATION"


# Of a function, at most, by folder; past four, think of a struct of options. The bounds get lower only.
PARAMETERS = {"aggregator": 6, "cli": 6, "collector": 6, "common": 5, "proto": 6, "reporter": 6, "storage": 6}
GIVEN = {"common/health.c": "handle", "cli/view/view_server.c": "handle"} # their type is libmicrohttpd's


def parameters(texts):
    for name, code in texts.items():
        for what, count in c_source.parameters(code):
            most = PARAMETERS.get(name.split("/")[0], max(PARAMETERS.values()))
            if count > most and GIVEN.get(name) != what:
                yield f"{name}: {what} has {count} parameters, {most} at most: a struct of options"


def meanings(texts):
    """A name of ours means one thing in the whole tree."""
    homes = {}
    for name, code in texts.items():
        for what in sorted(set(c_source.named(code))):
            if what.lower().startswith("wp_"):
                homes.setdefault(what, []).append(name)
    for what, files in sorted(homes.items()):
        if len(files) > 1:
            yield f"{what}: defined in " + " and in ".join(files)


# A verb alone is found nowhere, and says nothing in a backtrace.
VERB = re.compile(r"^static [^;={(]*\b(take|tell|say|look|keep|make|hold|give)\(", re.M)


def nouns(texts):
    for name, code in texts.items():
        for match in VERB.finditer(code):
            yield f"{name}: {match[1]}() needs a noun"


CHECKS = (resizing, constants, parameters, meanings, nouns)


def check(tree, names):
    raws = {name: arrows.read(tree, name) for name in names if arrows.is_source(name)}
    texts = {name: c_source.code_of(text) for name, text in raws.items()}
    return [line for one in CHECKS for line in one(texts)] + list(punctuation(raws))


# files, and a part of the breach that must be reported; None: must be clean
PLANTS = (
    ({"cli/a.c": "void *wp_a(void *p)\n{\n    return realloc(p, 2);\n}\n"}, "cli/a.c: resizes memory by hand"),
    ({"cli/a.c": "void wp_a(void)\n{\n    puts(\"{\\\"a\\\": 1}\");\n}\n"}, "writes JSON by hand"),
    ({"cli/a.c": "static int a(int b, int c, int d, int e, int f, int g, int h, int (*i)(int, int))\n{\n}\n"},
     "cli/a.c: a has 8 parameters"),
    ({"cli/a.c": "static int a(int b, int c, int d, int e, int f, int (*h)(int, int))\n{\n}\n"}, None),
    ({"cli/a.c": "static int a(int b, int c, int d, int e, int f, int g, int (*h)(int, int))\n{\n}\n"},
     "a has 7 parameters, 6 at most"),
    ({"cli/a.h": "struct wp_a {\n    int b;\n};\n", "proto/b.c": "struct wp_a {\n    int c;\n};\n"}, "wp_a: defined in cli/a.h and in"),
    ({"cli/a.h": "enum wp_a {\n    WP_B,\n    WP_C = 2\n};\n", "proto/b.c": "#define WP_C 1\n"}, "WP_C: defined in cli/a.h and in"),
    ({"cli/a.h": "struct wp_a {\n    int b;\n};\n", "cli/a.c": "struct wp_a *wp_b;\nstruct a {\n};\n", "proto/b.c": "struct a {\n};\n"}, None),
    ({"common/array.c": "int wp_a;\n"}, "still among the RESIZERS"),
    ({"cli/a.c": "#define A_NS 10000000000u\n"}, "multiples of WP_NS_PER_S"),
    ({"cli/a.h": "struct wp_a {\n    char b[129];\n};\n"}, "WP_ID_ROOM"),
    ({"cli/a.c": "int wp_a(void)\n{\n    return clock_gettime(1, 0);\n}\n"}, "common/clock.h reads clocks"),
    ({"cli/a.c": "void wp_a(int low, int middle)\n{\n    low = middle + 1;\n}\n"}, "WP_LOWER_BOUND searches"),
    ({"cli/a.c": "static int *take(int a)\n{\n}\n"}, "cli/a.c: take() needs a noun"),
    ({"cli/a.c": "static int take_a(int a)\n{\n    return b.take(a);\n}\n"}, None),
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
