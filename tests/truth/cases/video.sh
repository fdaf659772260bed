#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A player shows a clip of two seconds with sound, on a display without a screen and through a mixer without a sound card (the paper's
# MPlayer); all its threads are the base.
. "$(dirname "$0")/common.sh"
need mpv ffmpeg xvfb pulseaudio
ffmpeg -v error -f lavfi -i testsrc=duration=2:size=640x360:rate=25 -f lavfi -i sine=frequency=440:duration=2 -pix_fmt yuv420p -shortest \
    "$work/clip.mp4" </dev/null
Xvfb :78 -screen 0 1024x768x24 >"$work/xvfb" 2>&1 &
undo="kill $!"
wait_for /tmp/.X11-unix/X78
HOME=$work XDG_RUNTIME_DIR=$work pulseaudio -n --daemonize=no --exit-idle-time=-1 --use-pid-file=no -L "module-null-sink" \
    -L "module-native-protocol-tcp port=18380 listen=127.0.0.1 auth-anonymous=1" >"$work/pulse.log" 2>&1 &
undo="kill $!; $undo"
sleep 2
DISPLAY=:78 PULSE_SERVER=tcp:127.0.0.1:18380 record_case video command,threads mpv --no-config --vo=x11 --ao=pulse --really-quiet "$work/clip.mp4"
finds '[[]pulseaudio[]]|pulse' "the mixer"
