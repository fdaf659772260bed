#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An xterm that shows itself and runs "sleep 0.2", on a display without a screen (the paper's xterm launch).
. "$(dirname "$0")/common.sh"
need xterm xvfb
Xvfb :77 -screen 0 1024x768x24 >"$work/xvfb" 2>&1 &
undo="kill $!"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -e /tmp/.X11-unix/X77 ] && break
    sleep 0.2
done
make_cold
DISPLAY=:77 record_case xterm comm=xterm xterm -e sleep 0.2
