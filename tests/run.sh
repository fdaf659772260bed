#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/run.sh [CTEST-ARG...]: installs what is needed, builds with warnings as errors, runs every test. Its last lines
# are ctest's summary and its exit status is ctest's. Run as root on Debian 12: tests trace the live kernel.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"

if [ "$(id -u)" != 0 ]; then
  echo "tests/run.sh: run it as root: the tests read the kernel's events, and skip nothing" >&2
  exit 1
fi
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH # what packages.sh installs, and no other Python
export PATH
sh deploy/packages.sh --test
sh deploy/mounts.sh

# Tests build the programs once more. What was compiled with equal flags, whether here or in a copy of this tree, is compiled once.
export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_DIR="${CCACHE_DIR:-$top/build/ccache}" CCACHE_BASEDIR="${CCACHE_BASEDIR:-$top}" CCACHE_NOHASHDIR=1
CMAKE_BUILD_PARALLEL_LEVEL=$(nproc)
export CCACHE_DEPEND=1 CMAKE_BUILD_PARALLEL_LEVEL
cmake --preset dev >&2
cmake --build build/dev >&2

# On a loaded machine the collector would leave things out to stay cheap; the test of that says so itself.
export WAKEPATH_COLLECTOR_OVERHEAD_LIMIT=none

# Tests that trace the live kernel and look at times are serial by their own property (RUN_SERIAL). Others that trace it run one at a time
# beside the rest (RESOURCE_LOCK kernel, service; those with hosts of their own: machines), which shares the processors, with twice as many at a
# time as there are processors, since most of them wait. A live test whose claims are of names, stacks and files counts as two (PROCESSORS 2): one less
# runs beside it, and builds inside of tests give way (nice). These begin first of all (COST): two places at a time are hardly ever free later;
# then what takes long or has to wait for its turn. A sandbox that hides its own threads hides what interrupts do meanwhile: a live test may
# miss a waking that way, hardly twice in a row. So a live test has a second try, which is listed before the summary; any other test that needs
# one has failed.
exec python3 tests/repeated.py build/dev --output-on-failure --timeout 300 -j "$(($(nproc) * 2))" "$@"
