#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deploy/tarball.sh [OUT-DIR [COMMIT]]: the source of a commit as wakepath-VERSION.tar.gz, the same bytes on every machine:
# names sorted, times of the commit, no owner, no time in the gzip header.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:-.}"
out=$(cd "${1:-.}" && pwd)
commit=${2:-HEAD}
cd "$top"

version=$(git show "$commit:CMakeLists.txt" | sed -n 's/^project(wakepath VERSION \([0-9.]*\).*/\1/p')
[ -n "$version" ] || { echo "tarball: no version in CMakeLists.txt of $commit" >&2; exit 1; }
seconds=$(git log -1 --format=%ct "$commit")
name=wakepath-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git archive --format=tar --prefix="$name/" "$commit" | tar -C "$work" -xf -
tar -C "$work" --sort=name --format=ustar --mtime="@$seconds" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s \
  -cf "$work/$name.tar" "$name"
gzip -9n "$work/$name.tar"
mv "$work/$name.tar.gz" "$out/"
(cd "$out" && sha256sum "$name.tar.gz")
