#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/structure/format.sh TREE [--fix]: every C file is as .clang-format has it; --fix makes it so. --self-test: a planted breach is found.
set -u

tool=$(command -v clang-format-14 || command -v clang-format)

# The files of a tree that are not as they should be, a line each.
unformatted() {
  (cd "$1" && find . -name '*.[ch]' -not -path './build/*' -not -path './.git/*' -print0 |
    xargs -0 -P "$(nproc)" -n 40 "$tool" --dry-run --Werror 2>&1 | grep 'error:' | cut -d: -f1 | sort -u)
}

if [ "$1" = --self-test ]; then
  folder=$(mktemp -d)
  trap 'rm -r "$folder"' EXIT
  cp "$(dirname "$0")/../../.clang-format" "$folder"
  printf 'int main(void)\n{\n    return 0;\n}\n' >"$folder/right.c"
  printf 'int  main(void) { return 0; }\n' >"$folder/planted.c"
  tree=$folder
  found=$(unformatted "$tree")
  [ "$found" = ./planted.c ] && echo "1 passed, 0 failed" && exit
  echo "0 passed, 1 failed: '$found' instead of ./planted.c"
  exit 1
fi
if [ "${2:-}" = --fix ]; then
  cd "$1" && find . -name '*.[ch]' -not -path './build/*' -not -path './.git/*' -print0 | xargs -0 -P "$(nproc)" -n 40 "$tool" -i
  exit
fi
found=$(unformatted "$1")
[ -z "$found" ] && echo "1 passed, 0 failed" && exit
printf "%s: not as .clang-format has it (tests/structure/format.sh . --fix)\n" "$found"
echo "0 passed, 1 failed"
exit 1
