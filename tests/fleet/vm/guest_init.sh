#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first process of a virtual machine of vm_fleet.py. wp.address and wp.name come on the kernel's command line.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mkdir -p /sys/fs/cgroup /tmp /run /var/spool /dev/shm
mount -t cgroup2 none /sys/fs/cgroup
mount -t tracefs none /sys/kernel/tracing
mount -t debugfs none /sys/kernel/debug
# shellcheck disable=SC2013 # words of one line
for word in $(cat /proc/cmdline); do
  case $word in
  wp.address=*) address=${word#wp.address=} ;;
  wp.name=*) name=${word#wp.name=} ;;
  esac
done
hostname "$name"
echo "$name" | md5sum | cut -c 1-32 >/etc/machine-id
while read -r module; do
  insmod "/modules/$module.ko"
done </modules/order
mke2fs /dev/vda >/dev/null
mkdir /disk
mount -t ext4 /dev/vda /disk
ip link set lo up
ip link set eth0 up
ip addr add "$address" dev eth0
echo "wakepath: $name has begun"
nc -ll -p 99 -e /agent
poweroff -f
