#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Mounts tracefs, which perf events need, where a container or a minimal boot left it out.
set -eu

[ -d /sys/kernel/tracing ] || { echo "wakepath: this kernel was built without tracing" >&2; exit 1; }
[ -e /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing
