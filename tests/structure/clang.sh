#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/structure/clang.sh BUILD [FUZZ-BUILD]: every C file of that build is C to clang, too, without a warning. It makes no code: tests/more.sh
# clang does. What the fuzzers' build has compiled as it stands now, with warnings as errors, is not read once more.
set -euo pipefail

build=$1 fuzz=${2:-}
to_do=$(mktemp)
trap 'rm -f "$to_do"' EXIT
# What ninja would do there: of a copy of its file, since of its own it would only say that CMake looks for new files first.
still_to_do() {
  [ -e "$fuzz/build.ninja" ] && ninja -C "$fuzz" build.ninja >/dev/null 2>&1 && cp "$fuzz/build.ninja" "$fuzz/read.ninja" &&
    ninja -C "$fuzz" -f read.ninja -n -v all >"$to_do" 2>/dev/null
}
still_to_do || fuzz=''
# shellcheck disable=SC2016 # $0 is xargs' inner shell's
python3 - "$build/compile_commands.json" "$fuzz" "$to_do" <<'PYTHON' | xargs -0 -P "$(nproc)" -n 1 sh -c 'eval "$0"'
import json, shlex, sys

GCC_ONLY = ("-fno-ipa-icf",)


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


done, read, skipped = compiled(*sys.argv[2:]), 0, 0
for one, words in commands(sys.argv[1]):
    if not one["file"].endswith(".c") or not words[0].endswith(("/cc", "/gcc", "/clang")):
        continue
    if one["file"] in done:
        skipped += 1
        continue
    output, read = words.index("-o"), read + 1
    words = ["clang", "-fsyntax-only"] + [word for word in words[1:output] + words[output + 2:] if word not in GCC_ONLY]
    print("cd " + shlex.quote(one["directory"]) + " && " + shlex.join(words), end="\0")
print(f"clang: {read} files read, {skipped} compiled by the fuzzers' build", file=sys.stderr)
PYTHON
echo "1 passed, 0 failed"
