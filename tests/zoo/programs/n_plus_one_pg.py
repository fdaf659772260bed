#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One row after the other is asked of PostgreSQL."""
import glob
import os
import pwd
import subprocess
import tempfile

import psycopg2

BIN = max(glob.glob("/usr/lib/postgresql/*/bin"))


def as_postgres(*command):
    user = pwd.getpwnam("postgres")
    subprocess.run(command, user=user.pw_uid, group=user.pw_gid, extra_groups=[], cwd="/", check=True, stdout=subprocess.DEVNULL)


def load_item(rows, number):
    rows.execute("select sum(n) from generate_series(1, 300) n where n <> %s", (number,))
    return rows.fetchone()


with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
    os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
    data = os.path.join(folder, "data")
    as_postgres(BIN + "/initdb", "-D", data, "-A", "trust", "-N")
    as_postgres(BIN + "/pg_ctl", "-D", data, "-w", "-l", data + "/log", "-o", f"-p 7392 -k '' -h 127.0.0.1", "start")
    with psycopg2.connect(host="127.0.0.1", port=7392, user="postgres", dbname="postgres") as db:
        for item in range(20000):
            load_item(db.cursor(), item)
    db.close()
    as_postgres(BIN + "/pg_ctl", "-D", data, "-m", "fast", "-w", "stop")
