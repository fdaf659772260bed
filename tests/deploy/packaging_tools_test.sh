#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/deploy/packaging_tools_test.sh SOURCE: what cpack runs to make the packages is there after deploy/quickstart.sh, which installs no
# more than packages.txt has without "test:". (tests/bare.sh does it for real.)
set -euo pipefail
source=$1
mapfile -t wanted < <(sed -e 's/#.*//' -e '/^test:/d' -e '/^$/d' "$source/deploy/packages.txt")
closure=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "${wanted[@]}" |
  grep -E '^[a-z0-9]' | sed 's/:.*//' | sort -u)
status=0
for program in file dpkg-deb dpkg-shlibdeps gzip strip cmake ninja; do
  path=$(command -v "$program")
  package=$({ dpkg -S "$path" "${path#/usr}" "$(readlink -f "$path")" 2>/dev/null || true; } | sed -n '1s/:.*//p')
  [ "$(dpkg-query -W -f '${Essential}' "$package" 2>/dev/null)" = yes ] || grep -qx "${package:-none}" <<<"$closure" || { echo "$program (${package:-of no package}) is not there after quickstart.sh"; status=1; }
done
exit $status
