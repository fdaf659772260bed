#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/deploy/units_test.sh BIN SOURCE: what systemd says of the units, and that the figures in the manual are these.
set -eu

bin=$1
source=$2
folder=$(mktemp -d /var/tmp/wakepath-units-XXXXXX)
trap 'rm -rf "$folder"' EXIT

for unit in "$source"/deploy/systemd/*.service "$source"/deploy/systemd/*.timer; do
  sed "s|=/usr/bin/|=$bin/|" "$unit" >"$folder/$(basename "$unit")"
done
# Their word on standard error is the verdict: the exit status is 0 for unknown keys.
said=$(systemd-analyze verify --man=no "$folder"/*.service "$folder"/*.timer 2>&1 | grep wakepath || true)
[ -z "$said" ] || { echo "$said"; exit 1; }

for unit in "$folder"/*.service; do
  name=$(basename "$unit")
  score=$(systemd-analyze security --offline=yes "$unit" 2>/dev/null | sed -n 's/.*level for .*: \([0-9.]*\) .*/\1/p')
  echo "$name $score"
  grep -q "| \`$name\` | $score |" "$source/docs/operators-guide.md" ||
    { echo "docs/operators-guide.md does not say that $name has $score"; exit 1; }
done

for file in "$source"/deploy/systemd/*.sysusers; do
  systemd-sysusers --dry-run "$file" >/dev/null
done
echo "1 passed, 0 failed"
