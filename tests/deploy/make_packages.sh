#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/deploy/make_packages.sh BUILD CPACK: the .deb files of a build, for all tests that install some: in BUILD/test-packages/this, and in
# BUILD/test-packages/next the same as version 99.1, to upgrade to.
set -euo pipefail

build=$1
cpack=$2
folder=$build/test-packages
rm -rf "$folder"
mkdir -p "$folder/next"
cd "$build"
"$cpack" -G DEB -B "$folder/this" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
rm -r "$folder/this/_CPack_Packages"
for package in "$folder"/this/*.deb; do
  dpkg-deb -R "$package" "$folder/opened"
  sed -i 's/^Version: .*/Version: 99.1/' "$folder/opened/DEBIAN/control"
  name=$(basename "$package")
  dpkg-deb -Zgzip --root-owner-group -b "$folder/opened" "$folder/next/${name%%_*}_99.1_${name##*_}" >>"$folder/log"
  rm -r "$folder/opened"
done
