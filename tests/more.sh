#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/more.sh [PART...]: what tests/run.sh has no time for; of no PART, all but the last six. Each ends with one line, and the whole with
# "more: N passed, M failed". All but the last six are unit tests only: what traces the kernel is tests/run.sh's.
#   tidy       clang-tidy over every source file (.clang-tidy says what is an error)
#   clang      everything compiles with clang without a warning
#   sanitize   the unit tests with address and undefined behaviour sanitizers
#   threads    those of what has threads with the thread sanitizer (tests/tsan.supp)
#   coverage   the share of lines that unit tests reach, as gcov counts it
#   fuzz       each fuzzer for WAKEPATH_FUZZ_SECONDS (20), from its corpus
#   long       the tests of label "long" with all that they try at random or again and again (WP_LONG, WP_TRACES), those that tests/run.sh leaves out, and
#              more kills
#   zoo        every program with a planted fault is recorded, as root; what is said of it first
#   bisect     sixty searches, as root, of a commit that holds a lock longer, syncs once more or has a slower server
#   cases      the paper's cases, as root: mail, xterm, a database, make, video; prints their tables and build/cases.html, their curves
#   truth      every truth program in four ways, and real ones beside 0, 4 and 16 that compute, as root, on the running kernel; prints the table of
#              docs/truth.md
#   arm64      what is built for arm64 records a program on kernels of arm64, on an emulated machine (qemu-system-arm)
set -uo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
jobs=$(nproc)
unit=(--output-on-failure --label-exclude live -E 'deploy_|machines_|kubernetes_|slurm_|structure_|fault_|fuzz' -j "$jobs")

build() { # FOLDER [OPTION...]: of the preset of that name, else as the options say
  if [ $# = 1 ]; then set -- "$1" --preset "$1"; fi
  cmake "${@:2}" >/dev/null || return 1
  cmake --build "build/$1" -j "$jobs" >"build/$1/more.log" 2>&1 || { tail -n 30 "build/$1/more.log" && return 1; }
}

tidy() { build dev && tests/structure/tidy.sh build/dev all; }

clang() {
  build clang -B build/clang --preset dev -DCMAKE_C_COMPILER=clang
}

sanitize() { build asan-ubsan && ctest --test-dir build/asan-ubsan "${unit[@]}" | tail -n 12; }
# Of what has some; the rest is too slow with it, and learns nothing. proto_flood_test is of rates a second, and its children, which are forked
# from threads, may not start any with it.
threads() {
  build tsan || return 1
  TSAN_OPTIONS="suppressions=$top/tests/tsan.supp" ctest --test-dir build/tsan "${unit[@]}" -R '^(proto_[^f]|proto_frame|common_|health|collector_|cli_|sharded)' |
    tail -n 12
}

coverage() {
  build coverage || return 1
  find build/coverage -name '*.gcda' -delete
  local status=0
  ctest --test-dir build/coverage "${unit[@]}" | tail -n 12 || status=1
  # gcov's "Lines executed:P% of N" of each of our own files, summed. A compiler behind ccache names them from its own folder.
  find build/coverage -name '*.gcda' -not -path '*/tests/*' -print0 | xargs -0 gcov -n 2>/dev/null |
    awk -v top="$top/" '/^File/ { name = substr($0, 7, length($0) - 7); sub(/.*\/build\/coverage\/\.\.\/\.\.\//, "", name); sub(/^(\.\.\/)+/, "", name)
        if (index(name, top) == 1) name = substr(name, length(top) + 1)
        own = name ~ /^(common|proto|storage|collector|aggregator|reporter|cli)\// }
      /^Lines executed/ && own { split($0, part, /[:% ]+/); n = part[5]; hit = part[3] * n / 100
        if (!(name in most) || hit > most[name]) most[name] = hit; all[name] = n; own = 0 }
      END { for (name in all) { hits += most[name]; lines += all[name] }
        if (!lines) exit 1; printf "coverage: %.1f %% of %d lines\n", 100 * hits / lines, lines }' || status=1
  return "$status"
}

fuzz() { python3 tests/fuzz/bounded_run.py build/fuzz --seconds "${WAKEPATH_FUZZ_SECONDS:-20}" --found build/fuzz/corpus; }

# As root: a disk that is full and processes that are killed.
long() {
  build dev || return 1
  local status=0
  WP_LONG=1 WP_TRACES=1000 ctest -C long --test-dir build/dev --output-on-failure -L '^long$' -j "$jobs" | tail -n 12 || status=1
  python3 tests/fault/fault_table.py build/dev/bin --group kill --group crash --trials 4 || status=1
  return "$status"
}

zoo() { build release && WAKEPATH_BIN=build/release/bin tests/zoo/zoo.py --gate; }
bisect() { build release && tests/bench/bisect_planted.py build/release/bin --runs 20; }
cases() {
  build release || return 1
  local store status=0 name
  store=$(mktemp -d /var/tmp/wakepath-cases-XXXXXX)
  for name in mail xterm store make video web; do
    WAKEPATH_CASES=$store/store WAKEPATH_BIN=build/release/bin sh "tests/truth/cases/$name.sh" || status=1
  done
  build/release/bin/wakepath query --store "$store/store" --aggregate case --format page --out build/cases.html || status=1
  rm -r "$store"
  return "$status"
}
truth() {
  build release || return 1
  local status=0 spinners
  export WAKEPATH_BIN=build/release/bin
  tests/truth/compare.py --way all --table || status=1
  for spinners in 0 4; do
    tests/truth/real.py --classes build/release/tests/truth --spinners "$spinners" || status=1
    tests/truth/redis_blocked.py --spinners "$spinners" || status=1
    tests/truth/redis_blocked.py --spinners "$spinners" --unix || status=1
  done
  tests/truth/real.py --classes build/release/tests/truth --spinners 16 postgres make || status=1
  return "$status"
}
arm64() { mkdir -p build/arm64 && python3 tests/fleet/vm/arm64_test.py "$top/build/arm64"; }

passed=0 failed=0
[ $# -gt 0 ] || set -- tidy clang sanitize threads coverage fuzz
for part; do
  case $part in
    tidy | clang | sanitize | threads | coverage | fuzz | long | zoo | bisect | cases | truth | arm64) ;;
    *) sed -n 's/^#   /  /p' "$0" >&2 && exit 64 ;;
  esac
  began=$SECONDS
  if "$part"; then
    echo "$part: passed in $((SECONDS - began)) s" && passed=$((passed + 1))
  else
    echo "$part: FAILED after $((SECONDS - began)) s" && failed=$((failed + 1))
  fi
done
echo "more: $passed passed, $failed failed"
[ "$failed" = 0 ]
