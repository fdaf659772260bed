# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034
# For the cases: . common.sh; need PACKAGE...; record_case NAME SELECTOR COMMAND...; then finds PATTERN WHAT
# $WAKEPATH_BIN has the programs; $WAKEPATH_ACCOUNTED is the percentage that must be accounted for; $WAKEPATH_CASES, if it is said, is a store
# that gets each case as a release of its name.
# Each case works in $work, a new folder on a disk, removed at its end.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${WAKEPATH_BIN:=$here/../../../build/dev/bin}"
WAKEPATH_BIN=$(cd "$WAKEPATH_BIN" && pwd) # cases go elsewhere
work=$(mktemp -d /var/tmp/wakepath-case-XXXXXX)
undo=:
trap 'eval "$undo"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

need() {
    for package; do
        dpkg -s "$package" >"$work/dpkg" 2>&1 || apt-get install -y --no-install-recommends "$package" >&2
    done
}

# The page cache is dropped, so that files come from the disk.
make_cold() {
    sync
    echo 3 >/proc/sys/vm/drop_caches
}

record_case() {
    name=$1
    selector=$2
    shift 2
    "$WAKEPATH_BIN/wakepath" record --quiet --out "$work/out" --store "${WAKEPATH_CASES:-$work/store}" --release "$name" --aggregate "case=$selector" \
        -- "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
    "$WAKEPATH_BIN/wakepath-reporter" --store "${WAKEPATH_CASES:-$work/store}" --release "$name" --aggregate case --format json >"$work/report.json"
    python3 "$here/table.py" "$name" "$work/report.json" "${WAKEPATH_ACCOUNTED:-99.5}"
}

# Some time of the last case has stacks like this (awk's regular expression over frames parted by ';'): says how much, fails for none.
finds() {
    "$WAKEPATH_BIN/wakepath-reporter" --store "${WAKEPATH_CASES:-$work/store}" --release "$name" --aggregate case --format folded |
        awk -v pattern="$1" -v what="$2" '{ all += $NF } $0 ~ pattern { sum += $NF }
            END { printf "  found: %s: %.2f ms, %.1f %%\n", what, sum / 1e6, all ? 100 * sum / all : 0; exit !sum }'
}

# Until that is there.
wait_for() {
    for _ in $(seq 50); do
        [ -e "$1" ] && return
        sleep 0.2
    done
    echo "no $1" >&2
    exit 1
}
