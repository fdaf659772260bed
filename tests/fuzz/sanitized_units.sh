#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/sanitized_units.sh BUILD: the unit tests of what reads bytes that others wrote (decoders, the store, captures, settings, ELF files,
# interpreters) with address and undefined behaviour sanitizers, in the fuzzers' build (clang), which has those libraries already. All unit
# tests, those of the engine among them, are tests/more.sh sanitize's.
set -euo pipefail

build=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
parts='proto_(batch|corpus|curve_keys|dictionary|frame|session)|storage_(codec|exchange|report|state|store|value)|perf_[a-z]+|capture'
parts="$parts|collector_(address_space|demangle|interp_(codes|languages)|jit_map|kernel_symbols|object_names|python_file|python_lines|ruby_lines"
parts="$parts|symbolizer|unwind_rows)|common_(cgroup_path|config_file|containers|git|path|selector)"

[ -e "$build/build.ninja" ] || cmake --preset fuzz -S "$top" -B "$build" >/dev/null
mapfile -t units < <(ctest --test-dir "$build" -N -R "^($parts)_test\$" | sed -n 's/.*: \([a-z_]*_test\)$/\1/p')
[ "${#units[@]}" -ge 25 ] || { echo "only ${#units[@]} unit tests are there" && exit 1; }
nice -n 5 cmake --build "$build" --target "${units[@]}" >"$build/units.log" || { tail -n 30 "$build/units.log" && exit 1; }

passed=0 failed=0
one() { # COMMAND...: time limits here are for what hangs, since other tests have the other processors
  if timeout 300 "$build/bin/$1" "${@:2}" >"$build/unit.log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "--- failed: $*" && tail -n 60 "$build/unit.log"
  fi
}
for unit in "${units[@]}"; do one "$unit"; done
echo "sanitized: $passed passed, $failed failed"
[ "$failed" = 0 ]
