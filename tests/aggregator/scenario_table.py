#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scenario_table.py README FOLDER: the table of rules in README names each scenario of FOLDER, and only those that exist."""
import fnmatch
import os
import re
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = file.read().partition("## Rules and their scenarios")[2].partition("\n# ")[0]
    rows = [line.rpartition("|")[0].rpartition("|")[2] for line in table.splitlines() if line.startswith("| ") and "`" in line]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    there = {name[:-4] for name in os.listdir(sys.argv[2]) if name.endswith(".txt")}
    wrong = [f"{name}: no such scenario" for name in sorted(named) if not fnmatch.filter(there, name)]
    wrong += [f"{name}: in no row of the table" for name in sorted(there) if not any(fnmatch.fnmatch(name, row) for row in named)]
    print("\n".join(wrong) or f"{len(there)} scenarios, {len(rows)} rules")
    return 1 if wrong or not named else 0


if __name__ == "__main__":
    sys.exit(main())
