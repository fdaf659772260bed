#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the site of one or more stores with the cluster's own engine: an array job makes the pages of a share of the releases
# an element, a job behind it puts them together. The site has the same bytes as one that `wakepath-reporter` makes in one run.
#   report.sh [--wait] [--elements N] [--parts DIR] [--sbatch OPTION]... --store ROOT... --out SITE [-- REPORTER-OPTION...]
# Stores, SITE and DIR (default SITE.parts) must be reachable on the nodes, under the same names. Ends with 64 for wrong use.
set -euo pipefail

reporter=${WAKEPATH_REPORTER:-wakepath-reporter}
store=${WAKEPATH_STORE:-wakepath-store}

# What an element of the array runs. What it could not make is made when the parts are put together, and told there.
part() { # PARTS ELEMENTS OPTION...
  local parts=$1 elements=$2 release
  shift 2
  while read -r release; do
    "$reporter" "$@" --release "$release" --out "$parts/$release" --quiet || echo "not made: $release" >&2
  done < <(sed -n "$SLURM_ARRAY_TASK_ID~${elements}p" "$parts/releases")
}

join() { # PARTS SITE OPTION...
  local parts=$1 site=$2
  shift 2
  "$reporter" "$@" --out "$site" --parts "$parts"
}

usage() {
  sed -n 's/^#   report/usage: report/p' "$0" >&2
  exit 64
}

submit() {
  local wait=() elements=100 parts='' site='' given=() options=() root count array
  while [ $# -gt 0 ]; do
    case $1 in
      --wait) wait=(--wait) && shift && continue ;;
      --) shift && break ;;
    esac
    [ $# -gt 1 ] || usage
    case $1 in
      --elements) elements=$2 ;;
      --parts) parts=$2 ;;
      --sbatch) given+=("$2") ;;
      --store) options+=(--store "$(readlink -f "$2")") ;;
      --out) site=$(readlink -f "$2") ;;
      *) usage ;;
    esac
    shift 2
  done
  if [ ${#options[@]} = 0 ] || [ -z "$site" ]; then usage; fi
  parts=$(readlink -f "${parts:-$site.parts}")
  mkdir -p "$parts"
  if [ ! -e "$parts/.wakepath-parts" ] && [ -n "$(ls -A "$parts")" ]; then
    echo "report.sh: '$parts' holds files that are no parts of a site: give another folder with --parts" >&2 && exit 1
  fi
  : >"$parts/.wakepath-parts"
  for root in "${options[@]}"; do
    [ "$root" = --store ] || "$store" releases "$root"
  done | awk '{ print $1 }' | sort -u >"$parts/releases"
  count=$(wc -l <"$parts/releases")
  [ "$count" -gt 0 ] || { echo "report.sh: there is no release in these stores" >&2 && exit 1; }
  [ "$count" -ge "$elements" ] || elements=$count
  options+=("$@")
  array=$(sbatch --parsable --job-name wakepath-pages "${given[@]}" --array "1-$elements" --output "$parts/%a.log" \
    "$0" part "$parts" "$elements" "${options[@]}")
  sbatch "${wait[@]}" --job-name wakepath-site "${given[@]}" --dependency "afterany:${array%%;*}" --output "$parts/join.log" \
    "$0" join "$parts" "$site" "${options[@]}"
}

case ${1:-} in
  part | join) "$@" ;;
  *) submit "$@" ;;
esac
