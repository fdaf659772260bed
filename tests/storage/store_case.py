# SPDX-License-Identifier: Apache-2.0
"""What the tests of wakepath-store share: a store in a folder of its own, and the tool run on it."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

BIN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
DAY = 86400
HOUR = 3600
IS_LONG = bool(os.environ.get("WP_LONG"))  # tests/more.sh: more of what is tried at random or again and again
NOW = 1_763_683_200 + 12 * HOUR + 1800  # 2025-11-21 12:30 UTC


def ago(days, hour=0):
    """The timebox of this hour so many days before today."""
    return NOW // DAY * DAY - days * DAY + hour * HOUR


class StoreCase(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="wp-store-case-")
        self.root = self.holder.name + "/store"

    def tearDown(self):
        self.holder.cleanup()

    def make(self, release, *facts, shard="s", root=None):
        subprocess.run([BIN + "/store_maker", root or self.root, release, shard, *facts], check=True, timeout=60)

    def says(self, status, *words, stdin=None):
        run = subprocess.run([BIN + "/wakepath-store", *words], input=stdin, capture_output=True, text=True, timeout=600)
        self.assertEqual(run.returncode, status, (words, run.stdout, run.stderr))
        return run

    def json(self, *words, status=0):
        return json.loads(self.says(status, *words, "--json").stdout)

    def keys(self, root=None):
        return self.says(0, "ls", "-R", root or self.root).stdout.splitlines()

    def total(self, release, aggregate, root=None):
        """Of all that is stored of it, by the heads of its reports."""
        rows = self.json("ls", "-lR", root or self.root, release)
        return sum(row["head"]["total_ns"] for row in rows
                   if re.match(rf"{re.escape(release)}/{re.escape(aggregate)}(~[0-9a-f]{{8}})?/report\.", row["path"]))

    def values(self, root=None):
        """Every key with the digest of what is behind it."""
        return {f"{release['release']}/{value['key']}": value["digest"]
                for release in self.json("dump", root or self.root) for value in release["values"]}

    def damage_one(self, root, release):
        """Flips a byte in one compressed body that is in use."""
        path = f"{root}/{release}/data.mdb"
        with open(path, "rb") as file:
            data = file.read()
        at = -1
        while (at := data.find(bytes.fromhex("28b52ffd"), at + 1)) >= 0:
            with open(path, "wb") as file:
                file.write(data[:at + 12] + bytes([data[at + 12] ^ 0xFF]) + data[at + 13:])
            run = subprocess.run([BIN + "/wakepath-store", "verify", "--json", root, release], capture_output=True,
                                 check=False, timeout=60)
            faults = json.loads(run.stdout)["faults"]
            if len(faults) == 1:
                return faults[0]["key"]
        raise AssertionError("no compressed body in use")
