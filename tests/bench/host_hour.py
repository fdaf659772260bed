#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""host_hour.py BIN_DIR [--seconds N]: what a host-hour takes in the store. The workload is stated by PLAN: one host of four processors, a
service of six threads that answers about 1900 requests a second from another one with a disk, sampled at 99 Hz, as fleetgen makes it
(seed 1) with the collector's resolution of times. It is replayed into a new store; a JSON line: events, bytes of the capture, bytes of the values of each kind,
of data.mdb as it was written and after `wakepath-store prune` (which gives space back), all for one hour."""
import argparse
import json
import os
import subprocess
import tempfile

PLAN = """hosts 1 cpus=4
service web hosts=1 threads=6 base pause=2000
 busy 200
 call db
 sleep 300
service db hosts=1 threads=6
 busy 200
 disk 600
"""


def main():
    parser = argparse.ArgumentParser(description="Store bytes a host-hour; prints a JSON line.")
    parser.add_argument("bin")
    parser.add_argument("--seconds", type=int, default=3600)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wakepath-hour-", dir="/var/tmp") as folder:
        store, plan = folder + "/store", folder + "/plan"
        with open(plan, "w", encoding="ascii") as file:
            file.write(PLAN)

        def run(name, *words):
            return subprocess.run([f"{given.bin}/{name}", *words], check=True, capture_output=True, text=True).stdout

        run("fleetgen", "--out", folder, "--plan", plan, "--seconds", str(given.seconds), "--seed", "1", "--release", "v1",
            "--resolution", "32")
        capture = next(f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".capture"))
        run("wakepath-store", "import", capture, "--into", store, "--aggregate", "web=comm=web", "--aggregate", "db=comm=db")
        scale, kinds = 3600 / given.seconds, {}
        written = os.path.getsize(store + "/v1/data.mdb")
        rows = json.loads(run("wakepath-store", "ls", "-lR", "--json", store, "v1"))
        for row in rows:
            kinds[row["kind"]] = kinds.get(row["kind"], 0) + row["stored_bytes"]
        events = max(row["head"]["events"] for row in rows if row["kind"] == "report")
        run("wakepath-store", "prune", store, "--traces", "never", "--hours", "never", "--state", "never")
        print(json.dumps({"measure": "host_hour", "seconds": given.seconds, "events": round(events * scale),
                          "capture_bytes": round(os.path.getsize(capture) * scale), "value_bytes": dict(sorted(kinds.items())),
                          "data_mdb_bytes": written, "data_mdb_bytes_compacted": os.path.getsize(store + "/v1/data.mdb")}))


if __name__ == "__main__":
    main()
