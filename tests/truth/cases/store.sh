#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A database (the paper's SpatialTable): psql writes and reads rows in PostgreSQL, durably; then 128 clients at once, each commit on the disk.
. "$(dirname "$0")/common.sh"
need postgresql
for bin in /usr/lib/postgresql/*/bin; do :; done # the newest
chmod 755 "$work"
install -d -o postgres "$work/data"
cd /
runuser -u postgres -- "$bin/initdb" -D "$work/data" -A trust >"$work/initdb" 2>&1
runuser -u postgres -- "$bin/pg_ctl" -D "$work/data" -w -o "-p 18379 -k $work/data -c listen_addresses=127.0.0.1 -c max_connections=200" \
    -l "$work/data/log" start >"$work/start" 2>&1
undo="runuser -u postgres -- $bin/pg_ctl -D $work/data -m immediate stop >/dev/null"
{
    echo "create table t (k int primary key, v text);"
    i=0
    while [ $i -lt 100 ]; do
        echo "insert into t values ($i, repeat('x', 500));"
        i=$((i + 1))
    done
    echo "select count(*), sum(length(v)) from t;"
} >"$work/work.sql"
record_case store comm=psql "$bin/psql" -h 127.0.0.1 -p 18379 -U postgres -q -f "$work/work.sql" postgres
echo "insert into t values (nextval('s'), repeat('x', 500));" >"$work/client.sql"
"$bin/psql" -h 127.0.0.1 -p 18379 -U postgres -q -c "create sequence s start 1000" postgres
record_case clients comm=pgbench,threads "$bin/pgbench" -h 127.0.0.1 -p 18379 -U postgres -n -c 128 -j 128 -t 10 -f "$work/client.sql" postgres
finds 'fsync|fdatasync|WalWriteLock|LWLock|io:flush' "commits that reach the disk"
