#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every shell script of the tree is clean to shellcheck, and to its own shell's parser.
set -u
cd "$1" || exit 1
status=0
list=$(find . -path ./build -prune -o -path ./.git -prune -o -name '*.sh' -print; echo ./.ci/run)
for script in $list; do
  case $(head -n 1 "$script") in
    *bash*) bash -n "$script" || status=1 ;;
    *) sh -n "$script" || status=1 ;;
  esac
done
# shellcheck disable=SC2086 # a list of words
shellcheck $list || status=1
exit $status
