#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes a fleet what its list of hosts says, by ssh and nothing else: packages, keys, settings, services, who may send. Doing it again changes
# nothing. A host that is not on the list any more is taken off the aggregator's list of keys.
#   fleet.sh [OPTION]... HOSTS
#     --check             say what would be changed, change nothing; ends with 2 when something would be
#     --packages DIR      install the .deb files there (else: what apt-get knows as wakepath-...)
#     --settings DIR      append DIR/collector.conf and DIR/aggregator.conf to the settings that are written
#     --jobs N            so many hosts at a time (default 20)
#     --ssh OPTION        for ssh, may be repeated: --ssh -F --ssh my_config
# HOSTS has a line a host: `aggregator DESTINATION tcp://ADDRESS:PORT`, once, and `collector DESTINATION [KEY=VALUE]...` with its labels.
# DESTINATION is ssh's, for root. Ends with 0 (done, or nothing to do), 1 (something failed; the other hosts are done), 64 (wrong use).
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
check=0 packages='' settings='' jobs=20 ssh=(ssh -o BatchMode=yes -o ConnectTimeout=15) hosts=''

usage() {
  sed -n '5,12s/^# \{0,3\}//p' "$0" >&2
  exit 64
}

while [ $# -gt 0 ]; do
  case $1 in
    --check) check=1 && shift && continue ;;
    -h | --help) usage ;;
    -*) [ $# -gt 1 ] || usage ;;
    *) hosts=$1 && shift && continue ;;
  esac
  case $1 in
    --packages) packages=$2 ;;
    --settings) settings=$2 ;;
    --jobs) jobs=$2 ;;
    --ssh) ssh+=("$2") ;;
    *) usage ;;
  esac
  shift 2
done
if [ -z "$hosts" ] || [ ! -r "$hosts" ]; then usage; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ssh+=(-o ControlMaster=auto -o "ControlPath=$work/%C" -o ControlPersist=20) # one connection a host, not one a question

# --- the list
aggregator='' endpoint=''
collectors=()
declare -A labels
while read -r role destination rest; do
  case $role in
    '' | \#*) continue ;;
    aggregator)
      [ -z "$aggregator" ] || { echo "fleet.sh: $hosts: a second aggregator: $destination; make a list for it" >&2 && exit 64; }
      aggregator=$destination endpoint=$rest
      [[ $endpoint =~ ^tcp://[^\ ]+:[0-9]+$ ]] || { echo "fleet.sh: $hosts: '$endpoint' is not tcp://ADDRESS:PORT" >&2 && exit 64; }
      ;;
    collector)
      [ -z "${labels[$destination]+x}" ] || { echo "fleet.sh: $hosts: $destination stands there twice" >&2 && exit 64; }
      collectors+=("$destination") labels[$destination]=$rest
      ;;
    *) echo "fleet.sh: $hosts: '$role' is neither aggregator nor collector" >&2 && exit 64 ;;
  esac
done <"$hosts"
[ -n "$aggregator" ] || { echo "fleet.sh: $hosts: no aggregator" >&2 && exit 64; }

# --- one host: each of these says on its standard output, a line each, what it did ("changed ...") or would do ("would ...")
name_of() { local at=${1##*@} && echo "${at//[^A-Za-z0-9._-]/_}"; }

# Runs host.sh there with these settings. Files for it come as a tar on its standard input.
on_host() { # DESTINATION FOLDER WORD...
  local destination=$1 folder=$2
  shift 2
  cp "$here/host.sh" "$folder/host.sh"
  # shellcheck disable=SC2029 # the words are plain and meant for there
  tar -C "$folder" -c . | "${ssh[@]}" "$destination" \
    "set -e; d=\$(mktemp -d); trap 'rm -rf \"\$d\"' EXIT; tar -C \"\$d\" -x; cd \"\$d\"; check=$check sh host.sh $*"
}

# The packages of a role, and those files of them that the host does not have yet.
install_on() { # DESTINATION PACKAGE...
  local destination=$1 folder package file wanted=()
  shift
  folder=$(mktemp -d "$work/XXXXXX")
  for package; do
    if [ -z "$packages" ]; then
      wanted+=("$package")
    else
      file=$(find "$packages" -maxdepth 1 -name "${package}_*.deb" | sort -V | tail -n 1)
      [ -n "$file" ] || { echo "no $package in $packages" && return 1; }
      wanted+=("$package=$(dpkg-deb -f "$file" Version)")
      [ "$check" = 1 ] || ln -s "$(readlink -f "$file")" "$folder/"
    fi
  done
  # the files go along only where a version is another one: first without
  if ! on_host "$destination" "$(mktemp -d "$work/XXXXXX")" installed "${wanted[@]}" >/dev/null; then
    tar -C "$folder" --dereference -cf "$folder.tar" . && rm -rf "$folder" && mkdir "$folder" && tar -C "$folder" -xf "$folder.tar"
    on_host "$destination" "$folder" install "${wanted[@]}"
  fi
}

prepare_aggregator() {
  install_on "$aggregator" wakepath-aggregator wakepath-reporter wakepath-cli
  on_host "$aggregator" "$(mktemp -d "$work/XXXXXX")" key aggregator wakepath -
}

prepare_collector() { # DESTINATION
  install_on "$1" wakepath-collector wakepath-cli
  on_host "$1" "$(mktemp -d "$work/XXXXXX")" key collector wakepath-collector this
}

# What stands in the settings of all hosts of a role.
settings_of() { # ROLE
  [ -z "$settings" ] || [ ! -e "$settings/$1.conf" ] || cat "$settings/$1.conf"
}

finish_aggregator() {
  local folder
  folder=$(mktemp -d "$work/XXXXXX")
  mkdir -p "$folder/allow"
  for one in "${collectors[@]}"; do
    if [ -s "$work/$(name_of "$one").pub" ]; then
      cp "$work/$(name_of "$one").pub" "$folder/allow/"
    else
      : >"$folder/allow/$(name_of "$one").keep" # it is on the list, and did not answer just now
    fi
  done
  cat >"$folder/aggregator.conf" <<CONF
# Written by fleet.sh from its list of hosts: what is changed here is lost. Add settings to the folder that its --settings names.
bind = "tcp://0.0.0.0:${endpoint##*:}"
key = "/etc/wakepath/aggregator.key"
allow = "/etc/wakepath/allow"
store = "/var/lib/wakepath/store"
metrics = "127.0.0.1:9470"
$(settings_of aggregator)
CONF
  grep -Eq '^(auto-aggregates|aggregate)\b' "$folder/aggregator.conf" || echo 'auto-aggregates = 20' >>"$folder/aggregator.conf"
  on_host "$aggregator" "$folder" aggregator
}

finish_collector() { # DESTINATION
  local folder list='' label
  folder=$(mktemp -d "$work/XXXXXX")
  for label in ${labels[$1]}; do list="$list${list:+, }\"$label\""; done
  [ ! -s "$work/aggregator.pub" ] || cp "$work/aggregator.pub" "$folder/"
  cat >"$folder/collector.conf" <<CONF
# Written by fleet.sh from its list of hosts: what is changed here is lost. Add settings to the folder that its --settings names.
connect = "$endpoint"
key = "/etc/wakepath/collector.key"
server-key = "/etc/wakepath/aggregator.pub"
spool = "/var/lib/wakepath-collector/spool"
metrics = "127.0.0.1:9469"
${list:+label = {$list\}}
$(settings_of collector)
CONF
  on_host "$1" "$folder" collector
}

# --- all of them, some at a time. A line of a host's public key is kept, the others are shown behind its name.
failed=0 changes=0
one() { # NAME COMMAND ARGUMENT...
  local name=$1 status=0
  shift
  "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
  sed -n 's/^public //p' "$work/$name.out" >"$work/$name.new"
  [ ! -s "$work/$name.new" ] || mv "$work/$name.new" "$work/$name.pub"
  grep -v '^public ' "$work/$name.out" | sed "s/^/$name: /" || true
  if [ "$status" != 0 ]; then
    sed "s/^/$name: failed: /" "$work/$name.err" >&2
    [ -s "$work/$name.err" ] || echo "$name: failed with status $status" >&2
    : >"$work/$name.failed"
  fi
}

each_collector() { # COMMAND
  local one
  for one in "${collectors[@]}"; do
    [ ! -e "$work/$(name_of "$one").failed" ] || continue
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
    one "$(name_of "$one")" "$1" "$one" &
  done
  wait
}

{
  one aggregator prepare_aggregator
  each_collector prepare_collector
  [ -e "$work/aggregator.failed" ] || one aggregator finish_aggregator
  [ -e "$work/aggregator.failed" ] || each_collector finish_collector
} | tee "$work/said"
[ -z "$(find "$work" -maxdepth 1 -name '*.failed')" ] || failed=1
changes=$(grep -Ec '^[^ ]+: (changed|would)' "$work/said") || true
echo "$((${#collectors[@]} + 1)) hosts, $changes $([ "$check" = 1 ] && echo 'changes needed' || echo 'changes made')"
[ "$failed" = 0 ] || exit 1
[ "$check" = 0 ] || [ "$changes" = 0 ] || exit 2
