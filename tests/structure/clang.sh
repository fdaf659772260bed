#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/structure/clang.sh BUILD [FUZZ-BUILD]: what changed within a day of the last commit, or nobody has committed yet, is C to clang, too,
# without a warning: C files, and those that include such a header, two hundred at most. tests/more.sh clang compiles all of them. What the fuzzers' build has compiled
# as it stands now, with warnings as errors, is not read once more.
set -euo pipefail

build=$1 fuzz=${2:-}
to_do=$(mktemp) changed=$(mktemp)
trap 'rm -f "$to_do" "$changed"' EXIT
top=$(cd "$(dirname "$0")/../.." && pwd)
since=$("$(dirname "$0")/day_before.sh" "$top")
# Of a history that is no older, all of it.
if [ "$since" ]; then
  git -C "$top" diff --name-only --diff-filter=d "$since" -- '*.c' '*.h' >"$changed"
else
  git -C "$top" ls-files '*.c' '*.h' >"$changed"
fi
git -C "$top" ls-files --others --exclude-standard -- '*.c' '*.h' >>"$changed"
# What ninja would do there: of a copy of its file, since of its own it would only say that CMake looks for new files first.
still_to_do() {
  [ -e "$fuzz/build.ninja" ] && ninja -C "$fuzz" build.ninja >/dev/null 2>&1 && cp "$fuzz/build.ninja" "$fuzz/read.ninja" &&
    ninja -C "$fuzz" -f read.ninja -n -v all >"$to_do" 2>/dev/null
}
still_to_do || fuzz=''
# shellcheck disable=SC2016 # $0 is xargs' inner shell's
python3 - "$build/compile_commands.json" "$fuzz" "$to_do" "$top" "$changed" <<'PYTHON' | xargs -0 -P "$(nproc)" -n 1 sh -c 'eval "$0"'
import json, os, re, shlex, sys

GCC_ONLY = ("-fno-ipa-icf",)
MOST = 200


def commands(path):
    with open(path, encoding="utf-8") as file:
        return [(one, shlex.split(one["command"])) for one in json.load(file)]


def compiled(fuzz, to_do):
    """Files that are up to date in the fuzzers' build."""
    if not fuzz:
        return set()
    with open(to_do, encoding="utf-8", errors="replace") as file:
        rest = file.read()
    return {one["file"] for one, words in commands(fuzz + "/compile_commands.json") if "-Werror" in words and f" -c {one['file']}" not in rest}


def includes(path, names):
    """Whether that file includes one of them, from the top folder or from its own."""
    with open(path, encoding="utf-8", errors="replace") as file:
        said = re.findall(r'(?m)^#include "([^"]+)"', file.read())
    return any(name in names or os.path.normpath(os.path.join(os.path.dirname(path), name)) in names for name in said)


build, fuzz, to_do, top, changed = sys.argv[1:]
with open(changed, encoding="utf-8") as file:
    names = {name for line in file.read().split() for name in (line, os.path.join(top, line))}
done, read, skipped = compiled(fuzz, to_do), 0, 0
for one, words in commands(build):
    if not one["file"].endswith(".c") or not words[0].endswith(("/cc", "/gcc", "/clang")):
        continue
    if read == MOST or one["file"] not in names and not includes(one["file"], names):
        continue
    if one["file"] in done:
        skipped += 1
        continue
    output, read = words.index("-o"), read + 1
    words = ["clang", "-fsyntax-only"] + [word for word in words[1:output] + words[output + 2:] if word not in GCC_ONLY]
    print("cd " + shlex.quote(one["directory"]) + " && " + shlex.join(words), end="\0")
print(f"clang: {read} changed files read, {skipped} compiled by the fuzzers' build", file=sys.stderr)
PYTHON
echo "1 passed, 0 failed"
