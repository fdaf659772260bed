#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
# The first process of a machine of arm64: records one program, says what came of it, and turns the machine off.
export PATH=/usr/bin:/bin:/opt HOME=/tmp LC_ALL=C.UTF-8
for at in "proc /proc" "sysfs /sys" "devtmpfs /dev" "tmpfs /tmp" "tracefs /sys/kernel/tracing" "bpf /sys/fs/bpf"; do
  busybox mount -t "${at% *}" none "${at#* }"
done
busybox ip link set lo up
cd /tmp || exit 1
echo "PROBE $(wakepath-collector --no-config --probe=json | busybox tr -d '\n')"
wakepath record --quiet --out /tmp/out --store /tmp/store -- python3 /opt/waits.py
for format in json folded; do
  wakepath-reporter --store /tmp/store --format $format | while read -r line; do echo "$format $line"; done
done
echo "END"
busybox poweroff -f
