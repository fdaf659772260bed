#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/deploy/quickstart_test.sh SOURCE: the README's first command, on a copy of this tree; and what it says to who uses it wrongly. It builds
# the preset of tests/run.sh, so that what that has compiled is not compiled again; as it is typed, tests/bare.sh runs it.
set -eu

source=$1
folder=$(mktemp -d /var/tmp/wakepath-quickstart-XXXXXX)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/tree"
git -C "$source" ls-files -z --cached --others --exclude-standard |
  tar -C "$source" --null -T - --ignore-failed-read -c 2>/dev/null | tar -C "$folder/tree" -x
source=$folder/tree
export WAKEPATH_PRESET=dev CCACHE_BASEDIR="$source"
cd "$folder"

# What is built where nothing is said is there to be built.
grep -q '"name": "release"' "$source/CMakePresets.json" && grep -q 'WAKEPATH_PRESET:-release' "$source/deploy/quickstart.sh"
"$source/deploy/quickstart.sh" 2>said
grep -q "^quickstart: the page is $folder/wakepath-report/index.html$" said
[ -s wakepath-report/index.html ]
grep -q '"release"' wakepath-report/summary.json

# What it tells to type can be typed, and the address opened, wherever the page is.
WAKEPATH_OUT="a page's #1" "$source/deploy/quickstart.sh" -- true 2>said
hint=$(sed -n 's/^quickstart:   python3 -m http.server --directory \(.*\) 8000$/\1/p' said)
[ "$(eval "printf %s $hint")" = "$folder/a page's #1" ] || { cat said; echo "the hint cannot be typed: $hint"; exit 1; }
grep -q "(file://$folder/a%20page's%20%231/index.html)" said || { cat said; exit 1; }

status=0
WAKEPATH_OUT=other "$source/deploy/quickstart.sh" -- sh -c 'sleep 0.1; exit 7' 2>said || status=$?
[ "$status" = 7 ] || { cat said; echo "the command's status was not passed on: $status"; exit 1; }
[ -s other/index.html ]

status=0
"$source/deploy/quickstart.sh" --nonsense 2>said || status=$?
[ "$status" = 64 ] && grep -q "unknown option '--nonsense'" said
demo=$source/build/dev/bin/wakepath-demo
"$demo" --help | grep -q '^Usage: wakepath-demo'
status=0
"$demo" --nonsense 2>said || status=$?
[ "$status" = 64 ] && grep -q "unknown option --nonsense" said
echo "1 passed, 0 failed"
