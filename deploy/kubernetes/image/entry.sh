#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the pods run: entry.sh ROLE [OPTION...], ROLE being collector, enroll (a node's key), aggregator, enroller (the server that lists
# nodes' keys) or reporter. Every option of collector, aggregator and reporter may also be a variable of the pod
# (WAKEPATH_COLLECTOR_FREQUENCY, WAKEPATH_AGGREGATOR_EPOCH: wakepath.conf(5)); what is set here is only where things are.
#   WAKEPATH_SHARDS     how many aggregators there are (1)
#   WAKEPATH_ENDPOINT   where the N-th is: a format of printf (tcp://wakepath-aggregator-%d.wakepath-aggregator:7447); WAKEPATH_DESK: the
#                       enrolment server beside it (the same, :7448)
#   WAKEPATH_NODE       the node's name, of which a collector's shard is made; WAKEPATH_POD: the aggregator's, whose number is its shard
#   WAKEPATH_KEYS, WAKEPATH_NODE_KEYS, WAKEPATH_DATA, WAKEPATH_SITE   folders (/etc/wakepath/keys, /var/lib/wakepath-node, /data, /site)
set -eu

keys=${WAKEPATH_KEYS:-/etc/wakepath/keys}
node_keys=${WAKEPATH_NODE_KEYS:-/var/lib/wakepath-node}
data=${WAKEPATH_DATA:-/data}
shards=${WAKEPATH_SHARDS:-1}
endpoint=${WAKEPATH_ENDPOINT:-tcp://wakepath-aggregator-%d.wakepath-aggregator:7447}
desk=${WAKEPATH_DESK:-tcp://wakepath-aggregator-%d.wakepath-aggregator:7448}
# A pod's settings are its variables, not the package's files: hence --config /dev/null.

# "--connect ENDPOINT" of every shard, that of this node first; none has a blank in it. A node stays with its aggregator as long as that
# answers; the next ones are for when it does not.
connects() { # FORMAT
  first=$(($(printf %s "${WAKEPATH_NODE:?}" | cksum | cut -d ' ' -f 1) % shards))
  for i in $(seq 0 $((shards - 1))); do
    # shellcheck disable=SC2059 # it is one
    printf -- "--connect $1 " $(((first + i) % shards))
  done
}

collector() {
  # shellcheck disable=SC2046 # a list of words
  exec wakepath-collector --config /dev/null --hostname "${WAKEPATH_NODE:?}" --key "$node_keys/node.key" --server-key "$keys/aggregator.pub" \
    $(connects "$endpoint") "$@"
}

# The node's key is made once and stays on the node.
enroll() {
  [ -e "$node_keys/node.key" ] || wakepath keygen --dir "$node_keys" --host this node >&2
  # shellcheck disable=SC2046 # a list of words
  exec wakepath enroll --key "$node_keys/node.key" --server-key "$keys/aggregator.pub" --token "$keys/token" $(connects "$desk") "$@"
}

# The shards have one key, which each lists as a shard's; the nodes' are listed by the enrolment server.
aggregator() {
  pod=${WAKEPATH_POD:?}
  mkdir -p "$data/allow"
  cp "$keys/shards.pub" "$data/allow/.shards.new"
  mv "$data/allow/.shards.new" "$data/allow/shards.pub"
  for i in $(seq 0 $((shards - 1))); do
    # shellcheck disable=SC2059 # it is one
    [ "$i" = "${pod##*-}" ] || set -- --peer "$(printf "$endpoint" "$i")=$keys/aggregator.pub" "$@"
  done
  exec wakepath-aggregator --config /dev/null --shard "shard-${pod##*-}" --bind "${WAKEPATH_BIND:-tcp://0.0.0.0:7447}" --store "$data/store" \
    --key "$keys/aggregator.key" --allow "$data/allow" "$@"
}

enroller() {
  mkdir -p "$data/allow"
  exec wakepath enroll --listen "${WAKEPATH_DESK_BIND:-tcp://0.0.0.0:7448}" --key "$keys/aggregator.key" --token "$keys/token" \
    --allow "$data/allow" "$@"
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
  collector | enroll | aggregator | enroller | reporter) "$role" "$@" ;;
  *) echo "entry.sh: collector, enroll, aggregator, enroller or reporter, not '$role'" >&2 && exit 64 ;;
esac
