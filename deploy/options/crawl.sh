#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deploy/options/crawl.sh PROGRAM...: what each program and its sub-commands say of themselves with --help, as a table of
# tab-separated lines: "PATH o SHORT LONG ARGUMENT TEXT" an option, "PATH c NAME TEXT" a sub-command. Manual pages,
# completions and the files of settings are made from it, so that none of them can lack an option.
set -eu

here=$(dirname "$0")
export ARGP_HELP_FMT=rmargin=1000 # nothing is wrapped

# crawl PATH WORD...: PATH is how it is called by people, the words how it is called here. In a subshell: it calls itself.
crawl() (
  name=$1
  shift
  table=$(timeout 20 "$@" --help </dev/null 2>/dev/null | awk -v path="$name" -f "$here/help.awk") || return 0
  [ -n "$table" ] || return 0
  printf '%s\n' "$table"
  for sub in $(printf '%s\n' "$table" | awk -F '\t' '$2 == "c" && $3 != "help" { print $3 }'); do
    crawl "$name $sub" "$@" "$sub"
  done
)

for program; do
  crawl "$(basename "$program")" "$program"
done
