#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# keys.sh [token]: makes the keys of a cluster and prints them as Secrets: keys.sh | kubectl apply -n wakepath -f -
# The aggregators (shards) have one key. Nodes make theirs, and get them listed by the token (docs/kubernetes.md); with `token` that alone is
# made anew: OLD_TOKEN=... keeps the one before good beside it. Keys that are replaced lock all pods out until they are restarted.
set -eu
wakepath=${WAKEPATH:-wakepath}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

secret() { # NAME FILE...
  printf -- '---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  labels: {app.kubernetes.io/name: wakepath}\ntype: Opaque\ndata:\n' "$1"
  shift
  for file; do printf '  %s: %s\n' "$file" "$(base64 -w 0 "$folder/$file")"; done
}

head -c 32 /dev/urandom | base64 -w 0 | tr '+/' '-_' | tr -d = >"$folder/token"
printf '\n%s\n' "${OLD_TOKEN:-}" >>"$folder/token"
case ${1:-} in
  token) ;;
  "")
    "$wakepath" keygen --dir "$folder" --shard aggregator >&2
    cp "$folder/aggregator.pub" "$folder/shards.pub"
    secret wakepath-aggregator aggregator.key shards.pub
    secret wakepath-server aggregator.pub
    ;;
  *) echo "keys.sh: nothing, or token" >&2 && exit 64 ;;
esac
secret wakepath-token token
