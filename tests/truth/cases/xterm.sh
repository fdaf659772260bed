#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An xterm that shows itself and runs "sleep 0.2" under a window manager, on a display without a screen (the paper's xterm launch).
. "$(dirname "$0")/common.sh"
need xterm xvfb openbox
Xvfb :77 -screen 0 1024x768x24 >"$work/xvfb" 2>&1 &
undo="kill $!"
wait_for /tmp/.X11-unix/X77
DISPLAY=:77 HOME=$work openbox --sm-disable >"$work/openbox" 2>&1 &
undo="kill $!; $undo"
sleep 1
make_cold
DISPLAY=:77 record_case xterm comm=xterm xterm -e sleep 0.2
