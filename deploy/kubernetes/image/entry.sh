#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the pods run: entry.sh collector|aggregator|reporter [OPTION...]. Every option may also be a variable of the pod
# (WAKEPATH_COLLECTOR_FREQUENCY, WAKEPATH_AGGREGATOR_EPOCH: wakepath.conf(5)); what is set here is only where things are.
#   WAKEPATH_SHARDS     how many aggregators there are (1)
#   WAKEPATH_ENDPOINT   where the N-th is: a format of printf (tcp://wakepath-aggregator-%d.wakepath-aggregator:7447)
#   WAKEPATH_NODE       the node's name, of which a collector's shard is made; WAKEPATH_POD: the aggregator's, whose number is its shard
#   WAKEPATH_KEYS, WAKEPATH_DATA, WAKEPATH_SITE   folders (/etc/wakepath/keys, /data, /site)
set -eu

keys=${WAKEPATH_KEYS:-/etc/wakepath/keys}
data=${WAKEPATH_DATA:-/data}
shards=${WAKEPATH_SHARDS:-1}
endpoint=${WAKEPATH_ENDPOINT:-tcp://wakepath-aggregator-%d.wakepath-aggregator:7447}
# A pod's settings are its variables, not the package's files: hence --config /dev/null.

# A node stays with its aggregator as long as that answers; the next ones are for when it does not.
collector() {
  first=$(($(printf %s "${WAKEPATH_NODE:?}" | cksum | cut -d ' ' -f 1) % shards))
  for i in $(seq $((shards - 1)) -1 0); do # the nearest last, to stand first
    # shellcheck disable=SC2059 # it is one
    set -- --connect "$(printf "$endpoint" $(((first + i) % shards)))" "$@"
  done
  exec wakepath-collector --config /dev/null --hostname "$WAKEPATH_NODE" --key "$keys/collector.key" --server-key "$keys/aggregator.pub" "$@"
}

aggregator() {
  pod=${WAKEPATH_POD:?}
  exec wakepath-aggregator --config /dev/null --shard "shard-${pod##*-}" --bind "${WAKEPATH_BIND:-tcp://0.0.0.0:7447}" --store "$data/store" \
    --key "$keys/aggregator.key" --allow "$keys/allow" "$@"
}

# One site of all the stores that are mounted: DATA/store, or DATA/*/store where there are several.
reporter() {
  for root in "$data/store" "$data"/*/store; do
    [ ! -d "$root" ] || set -- --store "$root" "$@"
  done
  exec wakepath-reporter --no-source-disk --out "${WAKEPATH_SITE:-/site}" "$@"
}

role=${1:-}
[ $# = 0 ] || shift
case $role in
  collector | aggregator | reporter) "$role" "$@" ;;
  *) echo "entry.sh: collector, aggregator or reporter, not '$role'" >&2 && exit 64 ;;
esac
