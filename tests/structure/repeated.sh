#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/structure/repeated.sh REPEATED.PY: a test that passes at the second try has passed if it is live, and has failed if it is not.
# The summary ends a run that failed, too.
set -u

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cat >"$folder/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(repeated NONE)
enable_testing()
add_test(NAME fine COMMAND true)
add_test(NAME never COMMAND false)
add_test(NAME late_live COMMAND sh -c "test -e a || { touch a; exit 1; }")
add_test(NAME late_unit COMMAND sh -c "test -e b || { touch b; exit 1; }")
add_test(NAME late_crash COMMAND sh -c "test -e c || { touch c; kill -ABRT $$; }")
add_test(NAME partly COMMAND echo "test_it (__main__.It.test_it) ... skipped 'no machine'")
set_tests_properties(late_live PROPERTIES LABELS live)
CMAKE
cmake -S "$folder" -B "$folder/build" >/dev/null || exit 1
failed=0

# STATUS LINE TESTS: what comes out when these are run.
expect() {
  rm -f "$folder/build/a" "$folder/build/b" "$folder/build/c"
  said=$(python3 "$repeated" "$folder/build" -R "$3" 2>/dev/null)
  status=$?
  if [ "$status" != "$1" ] || ! grep -qxF "$2" <<<"$said"; then
    printf '%s: status %s\n%s\n' "$3" "$status" "$said"
    failed=$((failed + 1))
  fi
}

repeated=$1
expect 0 '100% tests passed, 0 tests failed out of 1' fine
expect 0 'Passed at the second try: late_live' 'fine|late_live'
expect 8 '60% tests passed, 2 tests failed out of 5' 'fine|late|partly'
expect 8 '0% tests passed, 1 tests failed out of 1' never
expect 8 'Passed at the second try: late_live' 'never|late_live'
expect 8 'Skipped inside of tests: 1 cases' 'never|partly'
expect 0 'Skipped inside of tests: 0 cases' fine
expect 0 $'\ttest_it: no machine' partly
expect 8 $'\t  4 - late_unit (not live, passed at the second try only)' 'fine|late|partly'
expect 8 $'\t  5 - late_crash (not live, passed at the second try only)' 'fine|late|partly'
echo "$((10 - failed)) passed, $failed failed"
[ "$failed" = 0 ]
