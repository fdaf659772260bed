#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# removals_test.sh SOURCE_DIR: what the scripts remove is theirs. A purge, the list of admitted keys, a job's folder, the parts of a site.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() { echo "removals_test: $*" >&2 && exit 1; }
put() { for one; do mkdir -p "$(dirname "$work/$one")" && echo precious >"$work/$one"; done; }
kept() { for one; do [ "$(cat "$work/$one" 2>/dev/null)" = precious ] || die "$one is gone"; done; }
gone() { for one; do [ ! -e "$work/$one" ] || die "$one is left"; done; }

purge() { # PACKAGE: of the root in $work
  sed "s/@PACKAGE@/$1/g; s|/var/lib/|$work/var/lib/|g; s|/run/|$work/run/|g; s|/etc/|$work/etc/|g" "$source/deploy/debian/postrm.in" >"$work/postrm"
  sh "$work/postrm" purge 2>"$work/said" || die "the purge of $1 failed: $(cat "$work/said")"
}
spool=var/lib/wakepath-collector/spool session=00112233-4455-6677-8899-aabbccddeeff
state() {
  put $spool/lock $spool/reserve $spool/$session/{hello,acks,acks.new,dictionary,00000000000000000001.batches,hello.tmp.12} \
    var/lib/wakepath-collector/unwind/00aa.rows
  put var/lib/wakepath/store.resume/one/00112233445566778899aabbccddeeff.{checkpoint,dictionary,checkpoint.tmp.1} \
    var/lib/wakepath/store.resume/~names.one
  put var/lib/wakepath/site/v1/index.html "var/lib/wakepath/site/a file.js"
  printf 'v1/index.html\na file.js\n' >"$work/var/lib/wakepath/site/.wakepath-site"
}
state
for package in wakepath-collector wakepath-reporter wakepath-aggregator; do purge $package; done
gone var/lib/wakepath-collector var/lib/wakepath
strangers=("$spool/thesis" "$spool/$session/thesis" var/lib/wakepath-collector/unwind/thesis.rows var/lib/wakepath/site/v1/thesis
  var/lib/wakepath/store.resume/thesis var/lib/wakepath/store.resume/one/thesis)
for stranger in "${strangers[@]}"; do
  state
  put "$stranger"
  for package in wakepath-collector wakepath-reporter wakepath-aggregator; do purge $package && cat "$work/said" >>"$work/all"; done
  kept "$stranger"
  grep -q "kept.*thesis" "$work/all" || die "nobody says that $stranger is kept"
  rm -rf "${work:?}/var" "$work/all"
done
put elsewhere/thesis
mkdir -p "$work/var/lib/wakepath"
ln -s "$work/elsewhere" "$work/var/lib/wakepath/site"
purge wakepath-reporter
kept elsewhere/thesis

# Keys that this list has admitted go with their hosts; others are told.
allow() { # HOST...: the list
  rm -rf "$work/list" && mkdir -p "$work/list/allow"
  for one; do echo "key of $one" >"$work/list/allow/$one.pub"; done
  # shellcheck disable=SC2034,SC2317 # what is read of host.sh uses them
  (cd "$work/list" && etc=$work/etc check=0 && doing() { echo "changed: $*"; } && install() { cp "${@: -2}"; } &&
    eval "$(sed -n '/^own=/,/^}$/p' "$source/deploy/fleet/host.sh")" && allow_hosts)
}
put etc/allow/relay.pub
allow web db >"$work/said"
[ -e "$work/etc/allow/db.pub" ] || die "db is not admitted"
allow web >"$work/said"
grep -qx 'changed: admit db no more' "$work/said" || die "db is admitted still"
grep -q 'relay.pub.*stays' "$work/said" || die "nobody tells of the relay"
gone etc/allow/db.pub
kept etc/allow/relay.pub
allow web >"$work/said"
! grep -q changed "$work/said" || die "it changed something again: $(cat "$work/said")"

# A job's folder.
put run/7/thesis run/7/log
mkdir "$work/run/7/nodes"
: >"$work/run/7/nodes/n1"
printf 'run=%s\nlogs=%s\n' "$work/run" "$work" >"$work/settings"
WAKEPATH_SLURM_SETTINGS=$work/settings SLURM_JOB_ID=7 SLURMD_NODENAME=n1 SLURM_SCRIPT_CONTEXT=epilog_slurmd sh "$source/deploy/slurm/job.sh"
kept run/7/thesis
gone run/7/log run/7/nodes

# The parts of a site.
put mine/releases
! WAKEPATH_STORE=true "$source/deploy/slurm/report.sh" --parts "$work/mine" --store "$work" --out "$work/pages" 2>"$work/said" ||
  die "the folder of somebody else was taken"
grep -q -- --parts "$work/said" || die "it says nothing of --parts: $(cat "$work/said")"
kept mine/releases
echo "1 passed, 0 failed"
