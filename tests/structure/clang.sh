#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/structure/clang.sh BUILD: every C file of that build is C to clang, too, without a warning. It makes no code: tests/more.sh
# clang does.
set -euo pipefail

build=$1
# shellcheck disable=SC2016 # $0 is xargs' inner shell's
python3 - "$build/compile_commands.json" <<'PYTHON' | xargs -0 -P "$(nproc)" -n 1 sh -c 'eval "$0"'
import json, shlex, sys

GCC_ONLY = ("-fno-ipa-icf",)
for one in json.load(open(sys.argv[1], encoding="utf-8")):
    words = shlex.split(one["command"])
    if one["file"].endswith(".c") and words[0].endswith(("/cc", "/gcc", "/clang")):
        output = words.index("-o")
        words = ["clang", "-fsyntax-only"] + [word for word in words[1:output] + words[output + 2:] if word not in GCC_ONLY]
        print("cd " + shlex.quote(one["directory"]) + " && " + shlex.join(words), end="\0")
PYTHON
echo "1 passed, 0 failed"
