#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deploy/options/settings.sh PROGRAM FILE: the commented file of settings as it is installed: FILE, and below it, commented
# out, each further key that the program has.
set -eu

program=$1
file=$2

cat "$file"
keys=$(env -i "$program" --config "$file" --print-config | sed -n 's/^# \([a-z0-9-]*\): not set; /\1\t/p')
printf '%s\n' "$keys" | while IFS="$(printf '\t')" read -r key text; do
  grep -Eq "^#?$key \+?=" "$file" || printf '\n# %s\n#%s =\n' "$text" "$key"
done
