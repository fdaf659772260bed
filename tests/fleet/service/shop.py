# SPDX-License-Identifier: Apache-2.0
"""An application between a web server and a data base, whose waits are known: each path has one.
SHOP_DATABASE says where the data base is; GET /truth gives the seconds of each kind so far, as who did it counted them."""
import json, os, time

import psycopg2

database = psycopg2.connect(os.environ["SHOP_DATABASE"])
database.autocommit = True
cursor = database.cursor()
slept = 0.0


def sleep():
    """The data base sleeps and says by its own clock how long."""
    global slept
    cursor.execute("SELECT extract(epoch FROM clock_timestamp() - begun) "
                   "FROM (SELECT clock_timestamp() AS begun, pg_sleep(0.008) OFFSET 0) AS nap")
    slept += float(cursor.fetchone()[0])
    return "slept\n"


def busy():
    """The application computes."""
    begun = time.thread_time()
    while time.thread_time() - begun < 0.006:
        sum(range(500))
    return "computed\n"


def commit():
    """A transaction that is on the disk before it is answered."""
    cursor.execute("INSERT INTO orders SELECT content FROM sample")
    return "bought\n"


def truth():
    """The statistics of the data base are those of sessions that have told: this one does."""
    cursor.execute("SELECT pg_stat_force_next_flush()")
    cursor.execute("SELECT wal_sync_time / 1000, wal_sync FROM pg_stat_wal")
    synced, syncs = cursor.fetchone()
    return json.dumps({"sleep": slept, "busy": time.process_time(), "commit": synced, "syncs": syncs})


def application(environment, start):
    paths = {"/sleep": sleep, "/busy": busy, "/commit": commit, "/truth": truth}
    text = paths[environment["PATH_INFO"]]().encode()
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(text)))])
    return [text]
