#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/bench/run.sh [--runs N] [--only P1,P3,P4,P5]: builds the release preset and prints the measures as JSON on standard
# output; with --services what services pay instead (P2a, P2d, P2b; services.py takes the other options). Run as root on
# an otherwise idle machine; docs/benchmarks.md has the table that it last printed.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "bench: run it as root: it traces the kernel" >&2; exit 1; }
sh "$top/deploy/packages.sh" --test
sh "$top/deploy/mounts.sh"
cd "$top"
cmake --preset release >&2
cmake --build build/release >&2
if [ "${1-}" = --services ]; then
    shift
    exec python3 tests/bench/services.py build/release/bin --half "$@"
fi
exec python3 tests/bench/measure.py build/release/bin "$@"
