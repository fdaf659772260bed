#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/truth/woken.sh BIN_DIR [RUNS]: what happens between the disk's end and the run of who waited for it, by another tracer than ours.
# Runs the case fsync of compare.py, recorded as always, with bpftrace beside it (as root), and prints histograms: from the completion of
# a request to the waking; from the waking to the CPU, parted by who woke it and for kernel threads that do the disk's work; and what the
# scheduler charged the program with beyond the time between its switches, which is what the program's own clock calls work.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
command -v bpftrace >/dev/null || { echo "woken: needs bpftrace (apt-get install bpftrace)" >&2; exit 77; }
folder=$(mktemp -d /var/tmp/wakepath-woken-XXXXXX)
tracer=
trap '[ -z "$tracer" ] || kill -INT "$tracer" 2>/dev/null || :; rm -rf "$folder"' EXIT

cat >"$folder/woken.bt" <<'BT'
BEGIN { printf("ready\n"); }
tracepoint:block:block_rq_complete { @last = nsecs; }
tracepoint:sched:sched_waking /args->comm == "client" || !strncmp(args->comm, "kworker", 7) || !strncmp(args->comm, "jbd2", 4)/ {
  @woken[args->pid] = nsecs;
  @by[args->pid] = cpu;
  if (args->comm == "client" && @last) { @completion_to_waking_us = hist((nsecs - @last) / 1000); }
}
tracepoint:sched:sched_switch {
  $next = args->next_pid;
  if (@woken[$next]) {
    $ns = nsecs - @woken[$next];
    if (args->next_comm == "client") {
      $how = @by[$next] == cpu ? "client, woken on its own CPU" : "client, woken from another CPU";
      @waking_to_run_us[$how] = hist($ns / 1000);
      @waking_to_run_ns[$how] = sum($ns);
    } else {
      @waking_to_run_us["kernel threads"] = hist($ns / 1000);
      @waking_to_run_ns["kernel threads"] = sum($ns);
    }
    delete(@woken[$next]);
  }
  if (args->next_comm == "client") { @came[$next] = nsecs; }
}
tracepoint:sched:sched_switch /args->prev_comm == "client" && @came[args->prev_pid]/ {
  $prev = args->prev_pid;
  $charged = curtask->se.sum_exec_runtime;
  if (@before[$prev]) {
    $ran = nsecs - @came[$prev];
    @between_switches_ns = sum($ran);
    if ($charged - @before[$prev] > $ran) {
      @charged_beyond_us = hist(($charged - @before[$prev] - $ran) / 1000);
      @charged_beyond_ns = sum($charged - @before[$prev] - $ran);
    }
  }
  @before[$prev] = $charged;
  delete(@came[$prev]);
}
END { clear(@last); clear(@woken); clear(@by); clear(@came); clear(@before); }
BT
bpftrace "$folder/woken.bt" >"$folder/out" 2>"$folder/errors" &
tracer=$!
while ! grep -q ready "$folder/out"; do
  kill -0 "$tracer" 2>/dev/null || { cat "$folder/errors" >&2; exit 1; }
  sleep 0.2
done
run=0
while [ "$run" -lt "${2:-3}" ]; do
  WAKEPATH_BIN=$1 python3 "$top/tests/truth/compare.py" --verbose fsync || :
  run=$((run + 1))
done
kill -INT "$tracer"
wait "$tracer" || :
tracer=
grep -v '^ready$' "$folder/out"
