#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the shape of the source tree: who may include and link whom, rooms, circles, sizes, names, licences.

    arrows.py TREE          exits 1 and prints one line a breach
    arrows.py --self-test   plants each kind of breach in a copy of nothing and wants it found
"""
import os
import re
import subprocess
import sys
import tempfile

import c_source

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
# The rooms of a folder, and which of its rooms each may use. README.md of the folder says what lies in them.
ROOMS = {
    "storage": {
        "value": "",
        "report": "value",
        "env": "value",
        "kind": "value report env",
        "upkeep": "value report env kind",
        "text": "value report env kind",
        "tool": "value report env kind upkeep text",
    },
    "aggregator": {
        "clock": "",
        "net": "clock",
        "timeline": "net",
        "fleet": "clock net timeline",
        "peer": "clock net timeline fleet",
        "explain": "clock net timeline fleet peer",
        "account": "clock net timeline fleet peer explain",
        "session": "timeline fleet peer explain account",
        "commit": "clock net timeline fleet account session",
        "shard": "clock net timeline fleet peer explain session",
        "engine": "clock timeline fleet account session commit shard",
        "daemon": "clock net fleet peer explain account session commit shard engine",
    },
    "collector": {
        "bpf": "",
        "host": "bpf",
        "elf": "bpf host",
        "interp": "bpf host elf",
        "symbols": "host elf",
        "unwind": "bpf host elf",
        "live": "bpf host elf interp unwind",
        "perf_script": "host",
        "batch": "bpf host interp symbols",
        "spool": "",
        "send": "symbols batch spool",
        "daemon": "bpf host interp symbols live perf_script batch send",
    },
    "reporter": {
        "base": "",
        "display": "base",
        "read": "base",
        "facts": "base display read",
        "code": "base facts",
        "recording": "base display read facts",
        "requests": "base display facts",
        "evidence": "base facts",
        "causes": "base display facts evidence",
        "sentences": "base display facts evidence causes",
        "findings": "base display facts requests evidence causes sentences",
        "waits": "base facts evidence",
        "window": "base display",
        "load": "base read facts code recording requests findings window",
        "source": "base display read facts",
        "compare": "base display read facts recording load",
        "data": "base display read facts window compare",
        "page": "base display facts code recording requests findings waits source compare",
        "html": "base display facts requests",
        "export": "base display facts recording requests findings waits compare",
        "site": "base display read facts code recording findings window load source compare data page html export",
        "cmd": "base display read facts code recording findings load source compare data page export site",
    },
    "cli": {
        "base": "",
        "view": "base",
        "record": "base view",
        "fleet": "base",
        "doctor": "base fleet",
        "measure": "base",
        "cmd": "base view record fleet doctor measure",
    },
}
# Headers of a room alone: what they define is opaque to the other rooms, whatever they include on the way.
PRIVATE = ("aggregator/account/aggregate_body.h", "aggregator/explain/explain_types.h",
           "aggregator/session/host_session_body.h")
# Structs that only these files change; the others take them const.
FILLS = {
    "wp_facts": ("reporter/facts/", "reporter/code/", "reporter/recording/", "reporter/requests/", "reporter/evidence/",
                 "reporter/causes/", "reporter/sentences/", "reporter/findings/", "reporter/load/", "reporter/compare/operand"),
}
ROOT = {"CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE", "README.md", ".clang-format", ".clang-tidy",
        ".editorconfig", ".gitignore", ".shellcheckrc"}
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


# Python has this one before it looks into a script's folder.
EARLY = {"site"}


def shadows(names):
    """A script beside others must not be imported in the place of Python's own module: bisect.py is, by random."""
    for name in names:
        module, ending = os.path.splitext(os.path.basename(name))
        if ending == ".py" and module in sys.stdlib_module_names - EARLY:
            yield f"{name}: hides Python's module {module} from the scripts beside it"


def tops(names):
    for name in names:
        if "/" not in name and name not in ROOT:
            yield f"{name}: not a file of the root's list"
    for folder in sorted({name.split("/")[0] for name in names if "/" in name}):
        if folder not in TOP and not folder.startswith("."):
            yield f"{folder}/: not a folder of the map"


def room_of(name):
    """(folder, room) of a file in a folder with rooms; the room of one that lies in the folder itself is None."""
    parts = name.split("/")
    if parts[0] not in ROOMS or not name.endswith((".c", ".h")):
        return None
    return parts[0], parts[1] if len(parts) == 3 else None


def rooms(name, text):
    """A file lies in a room of the table, and includes what that room may use."""
    place = room_of(name)
    if not place:
        return
    folder, room = place
    if room not in ROOMS[folder]:
        yield f"{name}: not in a room of {folder}"
        return
    for target in c_source.includes(text):
        there = room_of(target)
        if there and there[0] == folder and there[1] != room and there[1] not in ROOMS[folder][room].split() and \
                ".pb-c." not in target:
            yield f"{name}: {folder}/{room} may not use {target}"


def fills(name, text):
    """A struct that has been filled is only read."""
    if not name.endswith((".c", ".h")) or name.split("/")[0] not in MAP:
        return
    for struct, files in FILLS.items():
        if not name.startswith(files) and re.search(r"[(,]\s*struct " + struct + r" (\*|\w+\[)", text):
            yield f"{name}: takes a struct {struct} that is not const"


def order(table):
    """The table itself has no circle: a room uses those above it."""
    for folder, of in table.items():
        above = set()
        for room, uses in of.items():
            for used in set(uses.split()) - above:
                yield f"{folder}/{room}: {used} does not stand above it in the table"
            above.add(room)


def guides(names):
    """A README.md in each folder of the map, in each of its rooms, and in each that has sub-folders with sources."""
    wanted = {f"{folder}/{room}" for folder, of in ROOMS.items() for room in of
              if any(name.startswith(f"{folder}/{room}/") for name in names)}
    for parts in (name.split("/") for name in names if name.endswith(SOURCE)):
        wanted |= {"/".join(parts[:depth]) for depth in range(1, len(parts) - 1)} | ({parts[0]} & set(MAP))
    for folder in sorted(wanted):
        if folder + "/README.md" not in names:
            yield f"{folder}/: no README.md that says what lives here"


def is_source(name):
    return name.endswith((".c", ".h")) and name.split("/")[0] in MAP and "/bpf/" not in name


def circles(texts):
    """Files, a .c and its .h as one, that need each other by their includes."""
    graph = {}
    for name, text in texts.items():
        ways = graph.setdefault(name[:-2], set())
        ways |= {target[:-2] for target in c_source.includes(text) if target in texts and target[:-2] != name[:-2]}
    for circle in c_source.circles(graph):
        yield "files that need each other: " + ", ".join(circle)


def headers(texts):
    """A header declares only what its own .c defines; what nothing here defines is generated, or a macro's."""
    home = {}
    for name, text in texts.items():
        if name.endswith(".c"):
            home.update({what: name for what in c_source.defined(text)})
    for name, text in texts.items():
        for what in c_source.declared(text) if name.endswith(".h") else ():
            if home.get(what, name)[:-2] != name[:-2]:
                yield f"{name}: declares {what}, which {home[what]} defines"


def named(tree, names):
    """The functions that docs/architecture.md names are there."""
    if "docs/architecture.md" not in names:
        return
    sources = "\n".join(read(tree, name) for name in names if name.endswith((".c", ".h")) and name.split("/")[0] in MAP)
    known = set(re.findall(r"\bwp_\w+", sources))
    for name in sorted(set(re.findall(r"`(wp_\w+)`", read(tree, "docs/architecture.md"))) - known):
        yield f"docs/architecture.md: {name} is nowhere in the sources"


def reached(texts, name):
    """All headers that a file includes, itself or by others."""
    found, ahead = set(), [name]
    while ahead:
        new = {target for target in c_source.includes(texts[ahead.pop()]) if target in texts} - found
        found |= new
        ahead += new
    return found


def privates(texts):
    for header_name in PRIVATE:
        room = os.path.dirname(header_name)
        for name in sorted(texts):
            if header_name in texts and os.path.dirname(name) != room and header_name in reached(texts, name):
                yield f"{name}: includes {header_name}, which is private to {room}"


CHECKS = (includes, links, rooms, fills, size, licence, unfinished, guard)


def check(tree, names):
    texts = {name: read(tree, name) for name in names if is_source(name) and os.path.isfile(os.path.join(tree, name))}
    found = list(unique(names)) + list(tops(names)) + list(order(ROOMS)) + list(circles(texts)) + list(headers(texts))
    found += shadows(names)
    found += privates(texts)
    found += guides(names)
    found += named(tree, names)
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


def header(name, body=""):
    guarded = "WP_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper()
    return f"{HEAD}#ifndef {guarded}\n#define {guarded}\n{body}\n#endif\n"


# files, and a part of the breach that must be reported; None: must be clean
PLANTS = (
    ({"collector/a.c": HEAD + '#include "storage/env/store.h"\n'}, "collector may not include storage"),
    ({"common/b.c": HEAD + '#include "proto/event.h"\n'}, "common may not include proto"),
    ({"reporter/cmd/c.c": HEAD + '#  include "aggregator/engine/engine.h"\n'}, "reporter may not include aggregator"),
    ({"storage/env/d.c": HEAD + '#include "../cli/base/child.h"\n'}, "include by '../'"),
    ({"reporter/cmd/e.c": HEAD + '#include "proto/x.pb-c.h"\n'}, "reporter may not include proto"),
    ({"proto/CMakeLists.txt": "# SPDX-License-Identifier: x\ntarget_link_libraries(wp_proto\n  PUBLIC wp_storage)\n"},
     "proto may not link wp_storage"),
    ({"cli/long.c": HEAD + "\n" * LINE_LIMIT}, "601 lines"),
    ({"cli/bare.c": "int x;\n"}, "no SPDX"),
    ({"cli/marked.c": HEAD + "/* TO" "DO */\n"}, "unfinished mark"),
    ({"cli/guard.h": HEAD + "#ifndef GUARD_H\n#define GUARD_H\n#endif\n"}, "include guard"),
    ({"misc/f.txt": ""}, "not a folder of the map"),
    ({"cli/x.c": HEAD, "proto/x.c": HEAD}, "there is also"),
    ({"tests/x/bisect.py": "# SPDX-License-Identifier: x\n"}, "hides Python's module bisect"),
    ({"rl": "a log\n"}, "not a file of the root's list"),
    ({"cli/x.c": HEAD}, "cli/: no README.md"),
    ({"tests/x/README.md": "", "tests/x/y/z.py": "# SPDX-License-Identifier: x\n"}, "tests/: no README.md"),
    ({"storage/key.c": HEAD}, "not in a room of storage"),
    ({"storage/attic/key.c": HEAD}, "not in a room of storage"),
    ({"storage/value/key.c": HEAD + '#include "storage/env/store.h"\n'}, "storage/value may not use storage/env/store.h"),
    ({"cli/a.h": header("cli/a.h", '#include "cli/b.h"'), "cli/b.h": header("cli/b.h"), "cli/b.c": HEAD + '#include "cli/a.h"\n'},
     "files that need each other: cli/a, cli/b"),
    ({"cli/a.h": header("cli/a.h", '#include "cli/b.h"'), "cli/b.h": header("cli/b.h", '#include "cli/c.h"'),
      "cli/c.h": header("cli/c.h", '#include "cli/a.h"')}, "files that need each other: cli/a, cli/b, cli/c"),
    ({"cli/a.h": header("cli/a.h", "int wp_b(int x);"), "cli/b.c": HEAD + "int wp_b(int x)\n{\n    return x;\n}\n"},
     "cli/a.h: declares wp_b, which cli/b.c defines"),
    ({"cli/a.h": header("cli/a.h", "extern const int wp_b;"), "cli/b.c": HEAD + "const int wp_b = 1;\n"},
     "cli/a.h: declares wp_b, which cli/b.c defines"),
    ({"aggregator/explain/explain_types.h": header("aggregator/explain/explain_types.h"),
      "aggregator/explain/a.h": header("aggregator/explain/a.h", '#include "aggregator/explain/explain_types.h"'),
      "aggregator/account/b.c": HEAD + '#include "aggregator/explain/a.h"\n'},
     "aggregator/account/b.c: includes aggregator/explain/explain_types.h, which is private to aggregator/explain"),
    ({"storage/README.md": "", "storage/env/x.c": HEAD}, "storage/env/: no README.md"),
    ({"aggregator/README.md": "", "aggregator/engine/README.md": "", "aggregator/engine/fine.c": HEAD + '#include "storage/env/store.h"\n#include "aggregator/engine/fine.h"\n#include <zmq.h>\n',
      "aggregator/engine/fine.h": header("aggregator/engine/fine.h", "int wp_fine(void); /* int wp_other(void); */")}, None),
    ({"reporter/README.md": "", "reporter/page/a.c": HEAD + "static int a(int b, struct wp_facts *facts)\n{\n}\n"},
     "reporter/page/a.c: takes a struct wp_facts that is not const"),
    ({"reporter/README.md": "", "reporter/page/README.md": "", "reporter/page/a.c": HEAD + "static int a(const struct wp_facts *facts)\n{\n}\n"}, None),
    ({"docs/architecture.md": "`wp_gone`"}, "wp_gone is nowhere"),
    ({"storage/README.md": "", "storage/env/README.md": "", "storage/env/fine.c": HEAD + '#include "storage/value/keys.h"\n'}, None),
)


def planted(files, checker):
    with tempfile.TemporaryDirectory() as tree:
        for name, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
                file.write(text)
        return checker(tree, sorted(files))


def self_test(plants, checker):
    failures = []
    for files, want in plants:
        found = planted(files, checker)
        if want is None and found:
            failures.append(f"{sorted(files)}: clean, yet: {found}")
        if want is not None and not any(want in line for line in found):
            failures.append(f"{sorted(files)}: '{want}' was not found, only {found}")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        found = self_test(PLANTS, check)
        if not list(order({"cli": {"low": "high", "high": ""}})):
            found.append("a room that uses one below it was not found")
    else:
        found = check(sys.argv[1], files_of(sys.argv[1]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
