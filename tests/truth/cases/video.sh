#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A player shows a clip of two seconds on a display without a screen (the paper's MPlayer); all its threads are the base.
. "$(dirname "$0")/common.sh"
need mpv ffmpeg xvfb
ffmpeg -v error -f lavfi -i testsrc=duration=2:size=640x360:rate=25 -pix_fmt yuv420p "$work/clip.mp4" </dev/null
Xvfb :78 -screen 0 1024x768x24 >"$work/xvfb" 2>&1 &
undo="kill $!"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -e /tmp/.X11-unix/X78 ] && break
    sleep 0.2
done
DISPLAY=:78 record_case video command mpv --no-config --vo=x11 --ao=null --really-quiet "$work/clip.mp4"
