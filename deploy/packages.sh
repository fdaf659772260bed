#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deploy/packages.sh [--test]: installs what packages.txt lists and is not there yet; with --test also what tests need.
# Says nothing and asks nobody for anything when all of it is there.
set -eu

list=$(dirname "$0")/packages.txt
wanted=$(sed -e 's/#.*//' -e "${1:+s/^test://}" -e '/^test:/d' "$list" | tr -s ' \t\n' ' ')

# shellcheck disable=SC2086 # a list of words; what it has never heard of is told on its other output
there=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null | sed -n 's/ installed$//p' | tr '\n' ' ') || :
missing=
for package in $wanted; do
  case " $there" in *" $package "*) ;; *) missing="$missing $package" ;; esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
  echo "wakepath: these Debian packages are missing:$missing" >&2
  echo "wakepath: run this as root, or first: apt-get install$missing" >&2
  exit 1
fi

export DEBIAN_FRONTEND=noninteractive
install() {
  # shellcheck disable=SC2086 # a list of words
  apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 $missing </dev/null
}
# Lists of a day ago are good enough; without any, or when they are too old to install from, fetch them.
if [ -z "$(find /var/lib/apt/lists -name '*_Packages*' -mtime -1 2>/dev/null | head -n 1)" ]; then
  apt-get update -qq
fi
install >&2 || { apt-get update -qq && install >&2; }
