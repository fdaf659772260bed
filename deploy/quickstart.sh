#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deploy/quickstart.sh [-- CMD [ARG...]]: from a bare Debian 12 to a page that shows where CMD's time went. Without CMD
# a built-in demonstration is recorded. Run as root: packages are installed and the kernel's events are read.
# WAKEPATH_PRESET: how it is built (CMakePresets.json), "release" if not given.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
preset=${WAKEPATH_PRESET:-release}
build=$top/build/$preset

# A word as it can be typed.
quoted() {
  case $1 in
    *[!A-Za-z0-9_./:=@%+,-]*) printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf %s "$1" ;;
  esac
}
# A path as a browser takes it.
in_url() { printf %s "$1" | sed 's/%/%25/g; s/ /%20/g; s/#/%23/g; s/?/%3F/g; s/"/%22/g'; }

die() {
  echo "quickstart: $*" >&2
  exit 1
}

case ${1-} in
  --) shift ;;
  -h | --help)
    echo "Usage: deploy/quickstart.sh [-- CMD [ARG...]]"
    echo "Installs what is needed, builds Wakepath, records CMD (or a demonstration) and says where the page is."
    exit 0
    ;;
  -*)
    echo "quickstart: unknown option '$1'; usage: deploy/quickstart.sh [-- CMD [ARG...]]" >&2
    exit 64
    ;;
esac

[ "$(id -u)" = 0 ] || die "run it as root (sudo $0): it installs packages and reads the kernel's events"
[ -e /sys/kernel/btf/vmlinux ] || die "this kernel has no BTF (/sys/kernel/btf/vmlinux): Debian's own kernels have it"

echo "quickstart: packages ..." >&2
sh "$top/deploy/packages.sh" || die "packages could not be installed"
sh "$top/deploy/mounts.sh" || die "the kernel's tracing could not be mounted"

echo "quickstart: building in $build (the first time takes a minute or two) ..." >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Configured from the top folder: presets are found there only.
if ! (cd "$top" && cmake --preset "$preset" -DWP_TESTS=OFF && cmake --build "build/$preset") >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  die "the build failed; the end of its output is above"
fi

if [ $# = 0 ]; then
  echo "quickstart: no command given: recording a demonstration of processes that wait for each other" >&2
  set -- "$build/bin/wakepath-demo"
fi
out=${WAKEPATH_OUT:-wakepath-report}
status=0
"$build/bin/wakepath" record --out "$out" -- "$@" || status=$?

[ -s "$out/index.html" ] || exit "$status"
page=$(cd "$out" && pwd)/index.html
echo "quickstart: the page is $page" >&2
echo "quickstart: open it in any browser (file://$(in_url "$page")), or look from another machine:" >&2
echo "quickstart:   python3 -m http.server --directory $(quoted "$(dirname "$page")") 8000" >&2
echo "quickstart: record more with $(quoted "$build/bin/wakepath") record -- CMD" >&2
exit "$status"
