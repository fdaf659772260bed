#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/deploy/tarball_test.sh SOURCE: two tarballs of a commit are the same bytes, and have the tree in them. In a source
# without git (such as a tarball's own) there is nothing to make one of.
set -eu

git -C "$1" rev-parse HEAD >/dev/null 2>&1 || { echo "no git here"; exit 0; }
folder=$(mktemp -d /var/tmp/wakepath-tarball-XXXXXX)
trap 'rm -rf "$folder"' EXIT
first=$("$1/deploy/tarball.sh" "$folder/a")
second=$(umask 077; TZ=Asia/Tokyo LC_ALL=C.UTF-8 "$1/deploy/tarball.sh" "$folder/b")
[ "$first" = "$second" ] || { echo "not the same: $first / $second"; exit 1; }
tar -tzf "$folder"/a/*.tar.gz >"$folder/list"
grep -q '/CMakeLists.txt$' "$folder/list"
grep -q '/build/' "$folder/list" && { echo "it has the build in it"; exit 1; }
echo "$first"
