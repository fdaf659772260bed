#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the shape of the source tree: who may include and link whom, sizes, names, licences.

    arrows.py TREE          exits 1 and prints one line a breach
    arrows.py --self-test   plants each kind of breach in a copy of nothing and wants it found
"""
import os
import re
import subprocess
import sys
import tempfile

# A folder may use these; what is not here is a breach. cli knows everybody.
MAP = {
    "common": set(),
    "proto": {"common"},
    "storage": {"common", "proto"},
    "collector": {"common", "proto"},
    "aggregator": {"common", "proto", "storage"},
    "reporter": {"common", "storage"},
    "cli": {"common", "proto", "storage", "collector", "aggregator", "reporter"},
}
TOP = set(MAP) | {"deploy", "docs", "tests", "build"}
LINE_LIMIT = 600
SOURCE = (".c", ".h", ".js", ".py", ".sh")
SPDX = SOURCE + (".cmake", ".proto", ".css")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def read(tree, name):
    with open(os.path.join(tree, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def includes(name, text):
    """An include of another folder that the map does not know."""
    folder = name.split("/")[0]
    if folder not in MAP or not name.endswith((".c", ".h")):
        return
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*["<]((?:\.\./)*)([^">]+)[">]', line)
        if not match:
            continue
        if match.group(1):
            yield f"{name}:{number}: include by '../': name the folder"
        target = match.group(2).split("/")[0]
        if target not in MAP or target == folder or "/" not in match.group(2):
            continue
        if target not in MAP[folder]:
            yield f"{name}:{number}: {folder} may not include {target}"


def links(name, text):
    """A CMake link line against the map; wp_proto_schema and the like count as their folder."""
    folder = name.split("/")[0]
    if folder not in MAP or not name.endswith("CMakeLists.txt"):
        return
    for call in re.findall(r"target_link_libraries\s*\(([^)]*)\)", text):
        for target in call.split()[1:]:
            match = re.match(r"wp_([a-z]+)", target)
            if match and match.group(1) in MAP and match.group(1) not in MAP[folder] | {folder}:
                yield f"{name}: {folder} may not link {target}"


def size(name, text):
    if name.endswith(SOURCE) and text.count("\n") > LINE_LIMIT:
        yield f"{name}: {text.count(chr(10))} lines, {LINE_LIMIT} at most: is it still one noun?"


def licence(name, text):
    if (name.endswith(SPDX) or name.endswith("CMakeLists.txt")) and "SPDX-License-Identifier:" not in text[:400]:
        yield f"{name}: no SPDX-License-Identifier in its head"


def unfinished(name, text):
    if name.endswith(SOURCE):
        for number, line in enumerate(text.split("\n"), 1):
            if UNFINISHED.search(line):
                yield f"{name}:{number}: unfinished mark"


def guard(name, text):
    """WP_FOLDER_NAME_H, so that two headers cannot hide each other."""
    if name.endswith(".h") and name.split("/")[0] in MAP and "/bpf/" not in name:
        want = "WP_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper()
        if f"#ifndef {want}\n#define {want}\n" not in text:
            yield f"{name}: include guard is not {want}"


def unique(names):
    """One .c and one .h of a name in the repository: a file is found by its noun."""
    seen = {}
    for name in names:
        base = os.path.basename(name)
        if name.endswith((".c", ".h")):
            if base in seen:
                yield f"{name}: there is also {seen[base]}"
            seen[base] = name


def tops(names):
    for folder in sorted({name.split("/")[0] for name in names if "/" in name}):
        if folder not in TOP and not folder.startswith("."):
            yield f"{folder}/: not a folder of the map"


CHECKS = (includes, links, size, licence, unfinished, guard)


def check(tree, names):
    found = list(unique(names)) + list(tops(names))
    for name in names:
        if not os.path.isfile(os.path.join(tree, name)):
            continue
        text = read(tree, name)
        for one in CHECKS:
            found += one(name, text)
    return found


def files_of(tree):
    """What git tracks, and what it would; a tarball has no git and is walked."""
    git = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"], cwd=tree,
                         capture_output=True, text=True, check=False)
    if git.returncode == 0 and git.stdout:
        return sorted(set(git.stdout.splitlines()))
    return sorted(os.path.relpath(os.path.join(folder, file), tree) for folder, folders, files in os.walk(tree)
                  for file in files if "/build" not in folder and "/.git" not in folder)


HEAD = "/* SPDX-License-Identifier: Apache-2.0 */\n"
# name of the file, its text, a part of the breach that must be reported; None: must be clean
PLANTS = (
    ("collector/a.c", HEAD + '#include "storage/env/store.h"\n', "collector may not include storage"),
    ("common/b.c", HEAD + '#include "proto/event.h"\n', "common may not include proto"),
    ("reporter/c.c", HEAD + '#  include "aggregator/engine.h"\n', "reporter may not include aggregator"),
    ("storage/d.c", HEAD + '#include "../cli/child.h"\n', "include by '../'"),
    ("reporter/e.c", HEAD + '#include "proto/x.pb-c.h"\n', "reporter may not include proto"),
    ("proto/CMakeLists.txt", "# SPDX-License-Identifier: x\ntarget_link_libraries(wp_proto\n  PUBLIC wp_storage)\n",
     "proto may not link wp_storage"),
    ("cli/long.c", HEAD + "\n" * LINE_LIMIT, "601 lines"),
    ("cli/bare.c", "int x;\n", "no SPDX"),
    ("cli/marked.c", HEAD + "/* TO" "DO */\n", "unfinished mark"),
    ("cli/guard.h", HEAD + "#ifndef GUARD_H\n#define GUARD_H\n#endif\n", "include guard"),
    ("misc/f.txt", "", "not a folder of the map"),
    ("aggregator/fine.c", HEAD + '#include "storage/env/store.h"\n#include "aggregator/engine.h"\n#include <zmq.h>\n', None),
)


def self_test():
    failures = []
    for name, text, want in PLANTS:
        with tempfile.TemporaryDirectory() as tree:
            os.makedirs(os.path.join(tree, os.path.dirname(name)))
            with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
                file.write(text)
            found = check(tree, [name])
        if want is None and found:
            failures.append(f"{name}: clean, yet: {found}")
        if want is not None and not any(want in line for line in found):
            failures.append(f"{name}: '{want}' was not found, only {found}")
    if not any("there is also" in line for line in unique(["cli/x.c", "proto/x.c"])):
        failures.append("two files of one name were not found")
    return failures


def main():
    found = self_test() if sys.argv[1:] == ["--self-test"] else check(sys.argv[1], files_of(sys.argv[1]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
