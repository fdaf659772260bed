#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/structure/day_before.sh TOP: the last commit that is a day older than the newest one; nothing where there is none.
set -eu
git -C "$1" rev-list -1 --before="$(($(git -C "$1" log -1 --format=%ct) - 86400))" HEAD
