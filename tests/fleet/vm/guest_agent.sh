#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs one command line that came over a connection: its number first, then what it says, then its exit status.
IFS= read -r line # by single bytes: what comes behind it is the command's
exec 3<&0         # the shell takes standard input from what runs in the background
# The number comes from the background itself: said out here, it may come behind what a quick command says.
{ sh -c 'echo "$PPID"'; eval "$line" <&3 3<&-; } &
exec 3<&-
wait "$!"
echo "exited $?"
