#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the keys of a cluster and prints them as Secrets: keys.sh | kubectl apply -n wakepath -f -
# The pods of a DaemonSet share their Secrets, so the collectors have one key, which speaks for every node (docs/kubernetes.md). Where
# the secrets exist already this would lock all pods out until they are restarted: do it once, and to rotate.
set -eu
wakepath=${WAKEPATH:-wakepath}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$wakepath" keygen --dir "$folder" aggregator >&2
"$wakepath" keygen --dir "$folder" --host any collector >&2

secret() { # NAME KEY=FILE...
  printf -- '---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  labels: {app.kubernetes.io/name: wakepath}\ntype: Opaque\ndata:\n' "$1"
  shift
  for pair; do printf '  %s: %s\n' "${pair%%=*}" "$(base64 -w 0 "$folder/${pair#*=}")"; done
}
secret wakepath-aggregator aggregator.key=aggregator.key
secret wakepath-allow allow=collector.pub
secret wakepath-collector collector.key=collector.key aggregator.pub=aggregator.pub
