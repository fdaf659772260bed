#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm's Prolog= and Epilog=: a collector for as long as a job is on this machine, with the job's id and user as labels and under the
# release that the job names: `sbatch --comment=wakepath=v1.2 ...` (or `wakepath` alone). It never fails a job and never drains a node: what
# goes wrong is said in the log, and the job goes on. Settings: /etc/wakepath/slurm-job.conf (the example is beside this file).
set -uf
PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 077

jobs=asked                              # or all: every job, asked for or not
collector=/usr/bin/wakepath-collector
config=/etc/wakepath/collector.conf     # where to send to, keys, frequency
options='--metrics none --spool none'   # more options of the collector
run=/run/wakepath-slurm
logs=                                   # a folder; empty: to syslog
ready_s=10                              # a job waits at most so long for its collector to record
end_s=30                                # and a collector so long for its aggregator, when the job has ended
settings=${WAKEPATH_SLURM_SETTINGS:-/etc/wakepath/slurm-job.conf}
# shellcheck source=/dev/null
[ ! -r "$settings" ] || . "$settings"

job=${SLURM_JOB_ID:?this is a prolog and epilog of slurmd}
node=${SLURMD_NODENAME:-$(hostname)}
folder=$run/$job

say() { logger -t wakepath-slurm -- "job=$job node=$node $*" 2>/dev/null || true; [ -z "$logs" ] || echo "job=$job node=$node $*" >>"$logs/job.log"; }

# is_asked: whether this job is to be recorded; release: what it says it is.
release=
is_asked() {
  for word in ${SLURM_JOB_COMMENT:-}; do
    case $word in
      wakepath) return 0 ;;
      wakepath=?*) release=${word#wakepath=}; return 0 ;;
    esac
  done
  [ "$jobs" = all ]
}

# A process is its id and when it began (proc(5)): the id alone may be another's by now. Prints "STATE BEGAN".
process() { sed -n 's/.*) //p' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 1,20; }

alive() {
  read -r pid began 2>/dev/null <"$folder/pid" || return 1
  case $(process "$pid") in Z*) false ;; *" $began") true ;; *) false ;; esac
}

start() {
  set -- --label "job=$job" --label "user=${SLURM_JOB_USER:-$SLURM_JOB_UID}"
  [ -z "$release" ] || set -- "$@" "--release=$release"
  [ ! -r "$config" ] || set -- --config "$config" "$@"
  # Of its own session: slurmd kills what its prolog leaves in the prolog's group.
  # shellcheck disable=SC2086 # words
  setsid "$collector" "$@" $options --ready-fd 3 3>"$folder/ready" 9>&- </dev/null >"$folder/log" 2>&1 &
  echo "$! $(process $! | cut -d ' ' -f 2)" >"$folder/pid"
  for _ in $(seq "${ready_s}0"); do
    [ ! -s "$folder/ready" ] || return 0
    alive || break
    sleep 0.1
  done
  if alive; then
    say "its collector does not record yet, or no aggregator answers; the job goes on"
  else
    say "its collector has ended: $(head -n 1 "$folder/log")"
  fi
}

stop() {
  if alive; then
    kill -TERM "$pid"
    for _ in $(seq "${end_s}0"); do
      alive || break
      sleep 0.1
    done
    ! alive || { say "its collector does not end"; kill -KILL "$pid"; }
  fi
  if [ -n "$logs" ]; then
    cat "$folder/log" >>"$logs/$job.log"
  else
    logger -t wakepath-slurm -f "$folder/log" 2>/dev/null
  fi
  rm -f "$folder/pid" "$folder/ready" "$folder/log"
  rmdir "$folder" 2>/dev/null || say "$folder stays: it holds what is not ours"
}

# Two nodes of Slurm may be one machine (NodeHostname=): the first starts the collector, the last one stops it.
mkdir -p "$run" || { say "cannot make $run"; exit 0; }
exec 9>"$run/lock"
flock 9
case ${SLURM_SCRIPT_CONTEXT:-} in
  prolog*)
    is_asked || exit 0
    mkdir -p "$folder/nodes"
    : >"$folder/nodes/$node"
    alive || start
    ;;
  epilog*)
    [ -d "$folder" ] || exit 0
    rm -f "$folder/nodes/$node"
    rmdir "$folder/nodes" 2>/dev/null && stop
    ;;
  *) say "called by neither prolog nor epilog" ;;
esac
exit 0
