#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/deploy/packages_test.sh BUILD CPACK: uses the packages that make_packages.sh made in a clean Debian 12 made by debootstrap: install,
# record, report as the service does, upgrade with the store kept, purge. The rpm files are made and listed. With WP_LONG (tests/more.sh long)
# lintian reads the packages, and a systemd in that root runs the units, as those of tests/machines do.
set -euo pipefail

build=$1
cpack=$2
folder=$(mktemp -d /var/tmp/wakepath-packages-XXXXXX)
root=$folder/root

pids=()
container=
cleanup() {
  [ -z "$container" ] || kill -TERM "$container" 2>/dev/null || true
  for pid in "${pids[@]}"; do
    kill -TERM "$pid" 2>/dev/null || true
  done
  wait
  unmount
  rm -rf --one-file-system "$folder"
}
trap cleanup EXIT

mount_all() {
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys"
  mount -t tracefs tracefs "$root/sys/kernel/tracing"
  mount -t tmpfs tmpfs "$root/dev/shm"
}

unmount() {
  for mount in dev/shm sys/kernel/tracing sys proc; do
    ! mountpoint -q "$root/$mount" || umount "$root/$mount"
  done
}

# No service manager of the host has a part in it: it runs where there is none, too.
boot() {
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn -q -D "$root" --boot --register=no --keep-unit --console=pipe \
    --kill-signal=SIGRTMIN+3 --capability=CAP_BPF,CAP_PERFMON,CAP_SYS_PTRACE,CAP_SYSLOG --bind=/sys/kernel/tracing \
    --system-call-filter='bpf perf_event_open' >"$folder/boot" 2>&1 </dev/null &
  container=$!
}
booted() { nsenter -t "$(pgrep -P "$container" | head -n 1)" -m -p -u -i -C -r "$@"; }
await() {
  for _ in $(seq 60); do
    ! booted systemctl "$@" 2>/dev/null || return 0
    kill -0 "$container" 2>/dev/null || break
    sleep 1
  done
  cat "$folder/boot"
  booted journalctl --no-pager -n 40 || true
  die "never: systemctl $*"
}
halt() {
  kill -TERM "$container"
  wait "$container" || true
  container=
  # what nspawn made of the host's control groups, unless somebody is in it
  find /sys/fs/cgroup -depth -type d \( -path '*/payload' -o -path '*/payload/*' -o -path '*/supervisor' \) \
    -exec rmdir --ignore-fail-on-non-empty {} + 2>/dev/null || true
}

die() { echo "packages_test: $*" >&2; exit 1; }
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"; }

echo "--- packages"
cd "$build"
ln -s "$build/test-packages/this" "$folder/1"
ln -s "$build/test-packages/next" "$folder/2"
"$cpack" -G RPM -B "$folder/rpm" >"$folder/log" 2>&1 || { cat "$folder/log"; die "cpack of rpm failed"; }
for name in collector aggregator reporter cli doc; do
  [ -e "$(echo "$folder"/1/wakepath-"$name"_*.deb)" ] || die "no package of $name"
  rpm -qlp "$(echo "$folder"/rpm/wakepath-"$name"-*.rpm)" >"$folder/rpm-$name"
done
grep -qx /usr/bin/wakepath-collector "$folder/rpm-collector"
rpm -qcp "$folder"/rpm/wakepath-aggregator-*.rpm | grep -qx /etc/wakepath/aggregator.conf
# The oldest libc that they run on is what the manual says.
floor=$(for package in "$folder"/1/*.deb; do dpkg-deb -f "$package" Depends; done | grep -o 'libc6 (>= [0-9.]*' | sed 's/.* //' |
  sort -V | tail -n 1)
grep -q "glibc $floor" "$(dirname "$0")/../../docs/getting-started.md" || die "docs/getting-started.md does not say that glibc $floor is needed"

[ -z "${WP_LONG-}" ] || lintian --allow-root --fail-on error "$folder"/1/*.deb >"$folder/log" 2>&1 ||
  { grep '^E:' "$folder/log"; die "lintian finds errors"; }

echo "--- a clean root"
kept=${WAKEPATH_BARE:-/var/tmp/wakepath-bare}/bookworm.tar # by tests/bare.sh, where that has been run
if [ -s "$kept" ]; then
  mkdir "$root"
  tar -C "$root" --numeric-owner --xattrs -xpf "$kept"
else
  debootstrap --variant=minbase bookworm "$root" "${WAKEPATH_DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$folder/log" 2>&1 ||
    { tail -n 20 "$folder/log"; die "debootstrap failed"; }
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$root/dev/shm" "$root/packages"
mount_all
cp "$folder"/1/*.deb "$root/packages/"

echo "--- install"
inside sh -c 'apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 /packages/*.deb' >"$folder/log" 2>&1 </dev/null ||
  { tail -n 30 "$folder/log"; die "install failed"; }
for program in wakepath wakepath-collector wakepath-aggregator wakepath-reporter wakepath-store; do
  inside "$program" --version
done
inside getent passwd wakepath wakepath-collector
[ "$(inside stat -c '%U %a' /var/lib/wakepath/store)" = "wakepath 750" ] || die "the store's folder is not the aggregator's"
for daemon in collector aggregator; do
  inside "wakepath-$daemon" --check-config
done
inside wakepath-reporter --config /etc/wakepath/reporter.conf --check-config

echo "--- a command, recorded here and now"
inside wakepath record --out /root/report -- sh -c 'ls -R /usr >/dev/null; sleep 0.2'
[ -s "$root/root/report/index.html" ] || die "no page"

echo "--- the service: each as its own user, with the capabilities of its unit"
start() { # LOG COMMAND...
  local log=$1
  shift
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@" >"$folder/$log" 2>&1 &
  pids+=("$!")
}
caps=$(sed -n 's/^AmbientCapabilities=//p' "$root/lib/systemd/system/wakepath-collector.service" |
  tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
start aggregator setpriv --reuid=wakepath --regid=wakepath --clear-groups --bounding-set=-all --no-new-privs \
  sh -c 'umask 0007; exec wakepath-aggregator --exit-after-sessions 1'
aggregator=$!
for _ in $(seq 100); do
  [ ! -S "$root/run/wakepath/events.sock" ] || break
  sleep 0.1
done
start collector setpriv --reuid=wakepath-collector --regid=wakepath-collector --groups="$(inside getent group wakepath |
  cut -d: -f3)" --inh-caps="-all,$caps" --ambient-caps="-all,$caps" --bounding-set="-all,$caps" --no-new-privs \
  wakepath-collector --duration 2 --release from-deb
wait $! || { cat "$folder/collector"; die "the collector failed"; }
wait "$aggregator" || { cat "$folder/aggregator"; die "the aggregator failed"; }
# The cron line, as cron would run it.
cron=$(sed -n 's|^\*/10 \* \* \* \* ||p' "$root/usr/share/doc/wakepath-reporter/examples/wakepath-reporter.cron")
[ "${cron%% *}" = wakepath ] || die "the cron line is not the user's: $cron"
report() { inside setpriv --reuid="${cron%% *}" --regid="${cron%% *}" --clear-groups sh -c "${cron#* }"; }
report
grep -q from-deb "$root/var/lib/wakepath/site/index.html" || die "the release is not on the page"

under_systemd() {
  echo "--- systemd itself, in a container: the units as they are shipped"
  inside apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 systemd systemd-sysv dbus >"$folder/log" 2>&1 </dev/null ||
    { tail -n 30 "$folder/log"; die "systemd cannot be installed"; }
  inside systemctl enable wakepath-aggregator wakepath-collector wakepath-reporter.timer >"$folder/log" 2>&1
  unmount
  boot
  # READY=1 of both has come, by the hardened way
  await is-active --quiet wakepath-aggregator wakepath-collector
  # The journal shows the reload of a changed level; the socket's group let the collector in.
  echo 'log-level = "debug"' >>"$root/etc/wakepath/aggregator.conf"
  booted systemctl reload wakepath-aggregator wakepath-collector
  # A mistake is told to who asks, and the daemon does not hear of it.
  cp "$root/etc/wakepath/aggregator.conf" "$folder/sound.conf"
  echo 'epoch = soon' >>"$root/etc/wakepath/aggregator.conf"
  ! booted systemctl reload wakepath-aggregator 2>/dev/null || die "a wrong file was reloaded"
  cat "$folder/sound.conf" >"$root/etc/wakepath/aggregator.conf"
  sleep 2
  booted systemctl start wakepath-reporter
  booted systemctl stop wakepath-collector wakepath-aggregator
  booted journalctl --no-pager -u wakepath-collector -u wakepath-aggregator -u wakepath-reporter >"$folder/journal"
  for sign in 'collecting source=bpf' 'key=log-level value="debug"' 'session ends' 'Finished wakepath-reporter'; do
    grep -q "$sign" "$folder/journal" || { cat "$folder/journal"; die "the journal lacks '$sign'"; }
  done
  for unit in wakepath-collector wakepath-aggregator; do
    [ "$(booted systemctl show -p Result -p NRestarts --value "$unit" | sort | tr -s '\n' ' ')" = "0 success " ] ||
      { cat "$folder/journal"; die "$unit has failed or was restarted"; }
  done
  halt
  mount_all
  [ -e "$root/var/lib/wakepath/store/unversioned/data.mdb" ] || die "the service has written nothing"
}
[ -z "${WP_LONG-}" ] || under_systemd

echo "--- upgrade"
before=$(inside wakepath-store ls -R --long /var/lib/wakepath/store)
echo '# mine' >>"$root/etc/wakepath/collector.conf"
rm "$root"/packages/*
cp "$folder"/2/*.deb "$root/packages/"
inside sh -c 'dpkg -i /packages/*.deb' >"$folder/log" 2>&1 || { cat "$folder/log"; die "upgrade failed"; }
inside dpkg-query -W 'wakepath-*' | tee "$folder/versions"
[ "$(grep -c '99.1$' "$folder/versions")" = 5 ] || die "not all are upgraded"
[ "$(inside wakepath-store ls -R --long /var/lib/wakepath/store)" = "$before" ] || die "the store has changed"
inside wakepath-store verify /var/lib/wakepath/store
report
tail -n 1 "$root/etc/wakepath/collector.conf" | grep -qx '# mine' || die "settings were overwritten"

echo "--- purge"
inside wakepath keygen --dir /etc/wakepath collector
inside sh -c 'dpkg --purge wakepath-cli wakepath-collector wakepath-aggregator wakepath-reporter wakepath-doc' \
  >"$folder/log" 2>&1 || { cat "$folder/log"; die "purge failed"; }
grep -q 'the store is kept' "$folder/log" || die "nobody says that the store is kept"
[ -e "$root/var/lib/wakepath/store/from-deb/data.mdb" ] || die "the store is gone"
grep -qx /etc/wakepath/collector.key "$folder/log" || die "nobody says that a secret key is kept"
[ "$(cd "$root/etc/wakepath" && echo *)" = "collector.key collector.pub" ] || die "purge took keys, or left settings"
for left in /var/lib/wakepath/site /usr/bin/wakepath-collector /run/wakepath; do
  [ ! -e "$root$left" ] || die "$left is left behind"
done
inside dpkg -s wakepath-collector >/dev/null 2>&1 && die "it is still installed"
echo "1 passed, 0 failed"
