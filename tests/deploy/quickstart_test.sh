#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/deploy/quickstart_test.sh SOURCE: the README's first command, on this tree; and what it says to who uses it wrongly.
set -eu

source=$1
folder=$(mktemp -d /var/tmp/wakepath-quickstart-XXXXXX)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

"$source/deploy/quickstart.sh" 2>said
grep -q "^quickstart: the page is $folder/wakepath-report/index.html$" said
[ -s wakepath-report/index.html ]
grep -q '"release"' wakepath-report/summary.json

status=0
WAKEPATH_OUT=other "$source/deploy/quickstart.sh" -- sh -c 'sleep 0.1; exit 7' 2>said || status=$?
[ "$status" = 7 ] || { cat said; echo "the command's status was not passed on: $status"; exit 1; }
[ -s other/index.html ]

status=0
"$source/deploy/quickstart.sh" --nonsense 2>said || status=$?
[ "$status" = 64 ] && grep -q "unknown option '--nonsense'" said
echo "1 passed, 0 failed"
