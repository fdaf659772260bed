#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/structure/tidy.sh BUILD [FILE...]: clang-tidy over these files of the tree; of none, over what changed within a day of the last commit
# or nobody has committed yet, 6 at most, or, where that is nothing, over what decodes what others send (the whole tree is tests/more.sh's: `all`). .clang-tidy says what is an error. What it
# says and is not so stands in tests/tidy.txt; more of it, or other things, is a failure.
set -uo pipefail

build=$1
shift
cd "$(dirname "$0")/../.." || exit 1
decoders='proto/allowlist.c proto/batch_decode.c proto/dictionary.c proto/endpoint.c proto/enrolment_desk.c proto/frame.c proto/session.c proto/shard_wire.c
  storage/report/report_decode.c storage/report/trace_decode.c collector/unwind/unwind_rows.c collector/elf/jit_dump.c collector/perf_script/perf_script_line.c
  collector/spool/spool_segment.c common/config_file.c'

ours() { grep -E '^(common|proto|storage|collector|aggregator|reporter|cli)/.*\.c$' | grep -v '\.bpf\.c$'; }
if [ "${1:-}" = all ]; then
  mapfile -t files < <(git ls-files '*.c' | grep -v -e '\.bpf\.c$' -e '^tests/')
elif [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(git diff --name-only --diff-filter=d "$(tests/structure/day_before.sh .)" 2>/dev/null | ours | head -n 6)
  # shellcheck disable=SC2206 # a list of words
  [ "${#files[@]}" -gt 0 ] || files=($decoders)
fi

# xargs ends where one of its programs is killed, and clang-tidy 14 may crash.
# shellcheck disable=SC2016 # of the inner shell
printf '%s\n' "${files[@]}" | xargs -P "${WAKEPATH_JOBS:-$(nproc)}" -n 1 sh -c \
  'clang-tidy -p "$0" --quiet "$1" 2>/dev/null; [ $? -lt 128 ] || echo "crashed: $1"' "$build" >"$build/tidy.log"
crashed=$(grep -c '^crashed: ' "$build/tidy.log")
if [ "$((10 * crashed))" -gt "${#files[@]}" ]; then
  echo "tidy: clang-tidy crashed at $crashed of ${#files[@]} files"
  exit 1
fi
grep -E '^/.*(error|warning): .*\[' "$build/tidy.log" | grep -v /generated/ | sed "s|^$PWD/||" | sort -u >"$build/tidy.said"
if sed -E 's/^([^:]+):.*\[([a-zA-Z.-]+).*\]$/\1 \2/' "$build/tidy.said" | sort | uniq -c |
  awk 'NR == FNR { if (!/^#/) known[$1 " " $2] = $3; next } $1 > known[$2 " " $3] { print $2, $3, $1; bad = 1 } END { exit bad }' \
    tests/tidy.txt -; then
  echo "tidy: ${#files[@]} files, $(wc -l <"$build/tidy.said") remarks that are known, $crashed files at which clang-tidy crashed"
else
  cat "$build/tidy.said"
  exit 1
fi
