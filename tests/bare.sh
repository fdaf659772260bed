#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/bare.sh [--tests] [--shell] [CTEST-ARG...]: makes a Debian 12 with nothing in it (debootstrap's minbase), clones what is committed
# here into it, and runs there deploy/quickstart.sh, the packaging as docs/getting-started.md has it, and tests/run.sh CTEST-ARG...; its exit
# status is theirs. Run as root. With --tests only tests/run.sh runs. With --shell a shell follows, in the root and before it goes; its
# commands may come from a pipe. WAKEPATH_BARE (/var/tmp/wakepath-bare) keeps the bare root's archive and what apt fetched for the next time;
# the root itself, its mounts and what still runs in it go at the end. All mounts are in namespaces of this script's own: nothing of them is
# left even when it is killed.
set -euo pipefail

if [ "$(id -u)" != 0 ]; then
  echo "tests/bare.sh: run it as root: it makes a root of its own, and tests read the kernel's events" >&2
  exit 1
fi
[ -n "${WAKEPATH_BARE_SPACE-}" ] || WAKEPATH_BARE_SPACE=own exec unshare --mount --propagation private bash "$0" "$@"
unset WAKEPATH_BARE_SPACE

{ # read whole before it runs: the file may change meanwhile
shell='' only_tests=''
while :; do
  case ${1-} in
    --shell) shell=yes ;;
    --tests) only_tests=yes ;;
    *) break ;;
  esac
  shift
done
top=$(cd "$(dirname "$0")/.." && pwd)
kept=${WAKEPATH_BARE:-/var/tmp/wakepath-bare}
mirror=${WAKEPATH_DEBIAN_MIRROR:-http://deb.debian.org/debian}
mkdir -p "$kept/archives/partial"
root=$(mktemp -d "$kept/root-XXXXXX")

holder=

# What was started in the root and is still there ends: it is in the root's mount namespace, or in one that was made from it and mounts of it.
# shellcheck disable=SC2317 # the trap calls it
cleanup() {
  local process
  for process in /proc/[0-9]*; do
    [ ! "$process/ns/mnt" -ef /proc/$$/ns/mnt ] || continue
    if [ "$process/ns/mnt" -ef "/proc/$holder/ns/mnt" ] || grep -qsF "/${root##*/}" "$process/mountinfo"; then
      [ "$process" = "/proc/$holder" ] || kill -KILL "${process#/proc/}" 2>/dev/null || true
    fi
  done
  [ -z "$holder" ] || kill -KILL "$holder" 2>/dev/null || true
  umount --recursive --lazy "$root" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

say() { echo "bare: $*" >&2; }

# A process that sleeps keeps a mount namespace in which the new root is the root. After chroot(2) alone it would not be one: the kernel
# refuses user namespaces there, which units and containers need, and the names of files begin at the root that is out of sight.
enter() {
  # shellcheck disable=SC2016 # the shell inside is meant
  exec 3< <(exec setpriv --pdeathsig KILL unshare --mount --propagation private sh -euc '
    cd "$1"
    pivot_root . .
    umount --lazy .
    cd /
    echo $$
    exec sleep infinity' - "$root")
  read -r holder <&3
}
inside() {
  nsenter --mount="/proc/$holder/ns/mnt" \
    env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" "$@" 3<&-
}

if [ ! -s "$kept/bookworm.tar" ]; then
  say "debootstrap from $mirror (kept for the next time as $kept/bookworm.tar)"
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$kept/debootstrap.log" 2>&1 ||
    { tail -n 20 "$kept/debootstrap.log" >&2; say "debootstrap failed"; exit 1; }
  tar -C "$root" --numeric-owner --xattrs -cf "$kept/bookworm.tar.new" .
  mv "$kept/bookworm.tar.new" "$kept/bookworm.tar"
else
  tar -C "$root" --numeric-owner --xattrs -xpf "$kept/bookworm.tar"
fi

chmod 755 "$root" # users of the root must get into it

# Only what is mounted can be made the root.
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"
mount --bind "$kept/archives" "$root/var/cache/apt/archives"

# The network as it is here, and where this machine gets its packages from: sources, proxies, keys.
cp /etc/resolv.conf "$root/etc/resolv.conf"
hostname >"$root/etc/hostname"
printf '127.0.0.1 localhost %s\n::1 localhost ip6-localhost ip6-loopback\n' "$(hostname)" >"$root/etc/hosts"
for pair in /etc/apt/sources.list.d/debian.sources /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf.d/99*; do
  [ ! -e "$pair" ] || cp "$pair" "$root$pair"
done
[ ! -e "$root/etc/apt/sources.list.d/debian.sources" ] || rm -f "$root/etc/apt/sources.list"

git clone -q --no-hardlinks "$top" "$root/root/wakepath"
say "the commit is $(git -C "$root/root/wakepath" log -1 --format='%h %s')"

status=0
packaging=$(sed -n '/^cmake --preset release .*--target package$/p' "$root/root/wakepath/docs/getting-started.md")
enter
if [ -z "$only_tests" ]; then
  inside sh -c 'cd /root/wakepath && deploy/quickstart.sh' </dev/null || { status=$?; say "deploy/quickstart.sh failed"; }
  [ $status != 0 ] || inside sh -euxc "cd /root/wakepath; $packaging" </dev/null >"$kept/packaging.log" 2>&1 ||
    { status=$?; tail -n 20 "$kept/packaging.log" >&2; say "packaging failed"; }
fi
[ $status != 0 ] || inside sh -c 'cd /root/wakepath && exec tests/run.sh "$@"' - "$@" </dev/null || status=$?
[ -z "$shell" ] || inside sh -c 'cd /root/wakepath && exec bash' || true
say "exit status $status"
exit $status
}
