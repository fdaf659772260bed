#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What fleet.sh runs on a host, in a folder with the files that it sent. Lines "changed ..." say what was done, "would ..." what
# would be done were it not for check=1, "public ..." a public key.
#   host.sh installed|install PACKAGE[=VERSION]...   host.sh key NAME GROUP HOST   host.sh aggregator   host.sh collector
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
etc=/etc/wakepath
check=${check:-0}

# doing WHAT: says it; false when only to check.
doing() {
  [ "$check" = 0 ] || { echo "would $*" && return 1; }
  echo "changed: $*"
}

has() { # PACKAGE[=VERSION]
  state=$(dpkg-query -W -f '${db:Status-Status} ${Version}' "${1%%=*}" 2>/dev/null) || return 1
  case $1 in *=*) [ "$state" = "installed ${1#*=}" ] ;; *) [ "${state%% *}" = installed ] ;; esac
}

installed() {
  for package; do has "$package" || return 1; done
}

install_packages() {
  names=
  for package; do
    has "$package" || { doing "install $package" && names="$names $(ls ./"${package%%=*}"_*.deb 2>/dev/null || echo "${package%%=*}")"; } || true
  done
  [ -n "$names" ] || return 0
  export DEBIAN_FRONTEND=noninteractive
  # The lists of packages are only fetched when something is missing. Settings that were written stay.
  # shellcheck disable=SC2086 # words
  set -- -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold --allow-downgrades $names
  apt-get install "$@" >apt.log 2>&1 || { apt-get update -qq >>apt.log 2>&1 && apt-get install "$@" >>apt.log 2>&1; } ||
    { tail -n 5 apt.log >&2 && return 1; }
}

# A key pair that is made here: the secret half never leaves the host. Root owns it and the daemon's group reads it.
make_key() { # NAME GROUP HOST
  if [ ! -e "$etc/$1.key" ]; then
    doing "make the key $etc/$1.key" || return 0
    set -- "$1" "$2" "$([ "$3" = - ] || echo "--host=$3")"
    wakepath keygen --dir "$etc" ${3:+"$3"} "$1" >/dev/null
  fi
  if [ "$(stat -c '%U:%G %a' "$etc/$1.key")" != "root:$2 640" ]; then
    doing "let the group $2 read $etc/$1.key" || return 0
    chown "root:$2" "$etc/$1.key"
    chmod 640 "$etc/$1.key"
  fi
  sed -n '/^[^#]/s/^/public /p' "$etc/$1.pub"
}

is_stale=0 # whether the daemon must be started anew
put() { # FILE TARGET MODE OWNER
  [ ! -e "$2" ] || ! cmp -s "$1" "$2" || return 0
  is_stale=1
  doing "write $2" || return 0
  install -D -m "$3" -o "${4%:*}" -g "${4#*:}" "$1" "$2.new"
  mv "$2.new" "$2"
}

check_settings() { # DAEMON
  "wakepath-$1" --config "$1.conf" --check-config >check.log 2>&1 || { cat check.log >&2 && return 1; }
}

run_service() { # UNIT
  if [ "$(systemctl is-enabled "$1" 2>/dev/null)" != enabled ]; then
    ! doing "enable $1" || systemctl enable -q "$1"
  fi
  if ! systemctl is-active -q "$1"; then
    ! doing "start $1" || systemctl restart "$1"
  elif [ "$is_stale" = 1 ]; then
    ! doing "restart $1" || systemctl restart "$1"
  fi
}

# Keys of other lists, shards and those that somebody has put there are not this list's to remove: what it has admitted is noted.
own=$etc/allow/.fleet
is_own() { [ -e "$own" ] && grep -Fxq "$1" "$own"; }
note() { [ "$check" = 1 ] || is_own "$1" || echo "$1" >>"$own"; }
forget() { { grep -Fxv "$1" "$own" || true; } >"$own.new" && mv "$own.new" "$own"; }

allow_hosts() {
  [ -d "$etc/allow" ] || { doing "make $etc/allow" && install -d -m 750 -g wakepath "$etc/allow"; } || true
  for file in allow/*.pub; do
    [ ! -e "$file" ] || ! cmp -s "$file" "$etc/$file" || note "$(basename "$file" .pub)"
    [ ! -e "$file" ] || cmp -s "$file" "$etc/$file" || { doing "admit $(basename "$file" .pub)" &&
      install -m 640 -g wakepath "$file" "$etc/$file.new" && mv "$etc/$file.new" "$etc/$file" && note "$(basename "$file" .pub)"; } || true
  done
  for file in "$etc"/allow/*.pub; do
    name=$(basename "$file" .pub)
    if [ ! -e "$file" ] || [ -e "allow/$name.pub" ] || [ -e "allow/$name.keep" ]; then
      continue
    elif is_own "$name"; then
      ! doing "admit $name no more" || { rm "$file" && forget "$name"; }
    else
      echo "$file was not admitted by this list and stays; if its key must go: rm $file"
    fi
  done
}

# Of a host that has nothing yet, a check can only say so.
is_empty() { # DAEMON
  [ "$check" = 1 ] && ! command -v "wakepath-$1" >/dev/null && echo "would write settings and start wakepath-$1"
}

case $1 in
  installed) shift && installed "$@" ;;
  install) shift && install_packages "$@" ;;
  key) shift && make_key "$@" ;;
  aggregator)
    ! is_empty aggregator || exit 0
    allow_hosts
    check_settings aggregator
    put aggregator.conf "$etc/aggregator.conf" 644 root:root
    run_service wakepath-aggregator
    is_stale=0
    run_service wakepath-reporter.timer
    ;;
  collector)
    ! is_empty collector || exit 0
    [ ! -e aggregator.pub ] || put aggregator.pub "$etc/aggregator.pub" 644 root:root
    [ "$check" = 1 ] || check_settings collector
    put collector.conf "$etc/collector.conf" 644 root:root
    run_service wakepath-collector
    ;;
  *) exit 64 ;;
esac
