#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/bench/profile.sh [CAPTURE [SELECTOR [ROWS]]]: where the aggregator's time goes. Replays a capture into an aggregator under
# callgrind (ten seconds of it: a collector waits a minute for an acknowledgement) and prints three tables: the stages, each with
# all that it calls, what is in them besides sums (windows kept whole, source lines, transactions ...), and the functions by their own instructions, in
# percent. Without a capture it records five seconds of
# bench_pace (as root). SELECTOR: comm=bench_pace; ROWS: 20.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
sh "$top/deploy/packages.sh" --test
cd "$top"
cmake --preset release >/dev/null
cmake --build build/release >/dev/null
bin=$top/build/release/bin
folder=$(mktemp -d /var/tmp/wakepath-profile-XXXXXX)
aggregator=
trap '[ -z "$aggregator" ] || kill "$aggregator" 2>/dev/null; rm -rf "$folder"' EXIT

capture=${1:-}
if [ -z "$capture" ]; then
  capture=$folder/capture
  sh deploy/mounts.sh
  "$bin/wakepath-collector" --output "$capture" --duration 8 --log-level error &
  sleep 2
  "$bin/bench_pace" 5 25 >/dev/null
  wait "$!"
fi

valgrind --quiet --tool=callgrind --callgrind-out-file="$folder/callgrind" "$bin/wakepath-aggregator" --bind "ipc://$folder/socket" \
  --store "$folder/store" --release profile --aggregate "main=${2:-comm=bench_pace}" --exit-after-sessions 1 --log-level error &
aggregator=$!
"$bin/bench_stretch" "$capture" 10 >"$folder/short"
stats=$("$bin/wakepath-collector" --source "capture:$folder/short" --connect "ipc://$folder/socket" --stats --log-level error)
wait "$aggregator"
aggregator=
events=$(printf '%s' "$stats" | sed 's/.*"events":\([0-9]*\).*/\1/')

# "1,234 (5.6%)  file:function [object]" to "5.6 1234 function"
rows() {
  callgrind_annotate --auto=no --threshold=100 "$@" "$folder/callgrind" | tr -d , |
    sed -n 's/^ *\([0-9][0-9]*\) (\([0-9. ]*\)%)  *\([^ ]*\).*/\2 \1 \3/p' |
    awk '{ sub(/.*:/, "", $3); share[$3] = share[$3] > $1 + 0 ? share[$3] : $1 + 0; sum[$3] += $2 } END {
      for (name in sum) printf "%s %.0f %s\n", share[name], sum[name], name }'
}

rows --inclusive=yes >"$folder/inclusive"
rows --inclusive=no >"$folder/self"
total=$(awk '$3 == "PROGRAM" { print $2 }' "$folder/self")
# of "FUNCTION[,FUNCTION]... what it is" lines: the sum of the functions' shares with all that they call
stages() {
  while read -r names what; do
    awk -v names="$names" -v what="$what" 'BEGIN { count = split(names, wanted, ",") } { share[$3] = $1 }
      END { for (i = 1; i <= count; i++) { sum += share[wanted[i]]; text = text (i > 1 ? ", " : "") "`" wanted[i] "`" }
        printf "| %s (%s) | %.1f %% |\n", what, text, sum }' "$folder/inclusive"
  done
}

printf '%s events, %s instructions an event\n\n| stage | share |\n| --- | --- |\n' "$events" "$((total / events))"
stages <<'STAGES'
wp_frame_read frames: checksum, zstd
wp_batch_decode batches decoded
wp_dictionary_apply dictionaries, ids checked
wp_timeline_event timelines
wp_mappings_event which objects a process has
wp_aggregate_resolve explanations
wp_timeline_forget what is old forgotten
wp_commit_sessions commits to the store
STAGES
printf '\n| of these, besides sums | share |\n| --- | --- |\n'
stages <<'STAGES'
wp_exemplar_keep_piece,wp_exemplar_extend,wp_txn_put_trace the first window, kept whole
wp_exemplar_sample_wait,wp_exemplar_sample_request,wp_exemplar_sample_look,wp_txn_join_exemplars chosen windows
wp_line_sums_add,wp_line_sums_flush source lines
wp_transactions_file transactions, explained a second time
wp_detached_between,wp_slices_followed work started and not waited for
wp_timeline_set_wait what calls wait for
wp_txn_add_sourcemap,wp_mappings_put which objects and functions there are, in the store
STAGES
printf '\n| function | own instructions |\n| --- | --- |\n'
awk '$3 != "PROGRAM" { printf "%.1f %s\n", 100 * $2 / '"$total"', $3 }' "$folder/self" | sort -rn | head -n "${3:-20}" |
  awk '{ printf "| `%s` | %s %% |\n", $2, $1 }'
