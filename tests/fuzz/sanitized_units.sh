#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/sanitized_units.sh BUILD: the unit tests of what decodes, of the store and of the engine, and all its scenarios, with address and
# undefined behaviour sanitizers, in the fuzzers' build (clang), which has those libraries already. What takes minutes is tests/more.sh's.
set -euo pipefail

build=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
parts='proto_(batch|corpus|curve_keys|dictionary|frame|session)|storage_(codec|exchange|exemplars|fault|report|state|store|value)|perf_[a-z]+|capture'
parts="$parts|collector_(address_space|batcher|demangle|file_paths|interp_(codes|languages)|jit_map|kernel_symbols|object_names|python_file|python_lines|ruby_lines|symbolizer|unwind_rows)"
parts="$parts|common_[a-z_]+|engine_window|aggregator_(blockops|checkpoint|drop_spans|line_sums|messages|symbol_broker|rings|vital_hosts)"

[ -e "$build/build.ninja" ] || cmake --preset fuzz -S "$top" -B "$build" >/dev/null
mapfile -t units < <(ctest --test-dir "$build" -N -R "^($parts)_test\$" | sed -n 's/.*: \([a-z_]*_test\)$/\1/p')
[ "${#units[@]}" -ge 40 ] || { echo "only ${#units[@]} unit tests are there" && exit 1; }
nice -n 10 cmake --build "$build" --target "${units[@]}" scenario_run >"$build/units.log" || { tail -n 30 "$build/units.log" && exit 1; }

export WP_TRACES=50 # of engine_window_test, which tries 200 without sanitizers
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
# All of them in one process; where that fails, each in its own, which says whose fault it is.
scenarios=("$top"/tests/aggregator/scenarios/*.txt)
if timeout 300 "$build/bin/scenario_run" "${scenarios[@]}" >"$build/unit.log" 2>&1; then
  passed=$((passed + ${#scenarios[@]}))
else
  failed=$((failed + 1))
  echo "--- failed: all scenarios" && tail -n 60 "$build/unit.log"
  for scenario in "${scenarios[@]}"; do one scenario_run "$scenario"; done
fi
echo "sanitized: $passed passed, $failed failed"
[ "$failed" = 0 ]
