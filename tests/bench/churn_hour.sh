#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# churn_hour.sh BIN [SECONDS]: records 16 s of 5,000 connections and 200 processes a second, as root, and has an engine
# take SECONDS (3600) of that as fast as it does; prints what churn_hour says of memory on the way.
set -eu
bin=$1
seconds=${2:-3600}
folder=$(mktemp -d)
collector=
trap '[ -z "$collector" ] || kill "$collector" 2>/dev/null || :; rm -rf "$folder"' EXIT
"$bin/wakepath-collector" --no-config --output "$folder/capture" --overhead-limit none --log-level error &
collector=$!
sleep 2
"$bin/churn" 5000 200 16 >&2
kill -TERM "$collector"
wait "$collector"
collector=
"$bin/churn_hour" "$folder/capture" "$seconds"
