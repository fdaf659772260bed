# SPDX-License-Identifier: Apache-2.0
"""What compare.py found, in Markdown: the summary of docs/truth.md, the table of README.md, and all of it."""
import os
import re
import subprocess
import time

from truth_cases import CASES, WAYS


class NoOutcome:
    """Of a program that could not be recorded or read: the others go on."""

    percent = load = None

    def __init__(self, error):
        self.error = error

    @staticmethod
    def is_good(_bound):
        return False

    def tell(self, name, _bound, _is_verbose):
        print(f"{name:16} has no outcome: {self.error}", flush=True)
        return False

    @staticmethod
    def cell(_bound):
        return "**no outcome**"


def summary(rows, ways):
    """How many programs are over the bound of each way, and the worst of them."""
    lines = ["| way | target | programs over it | worst |", "| --- | --- | --- | --- |"]
    for way in ways:
        over = [(name, outcomes[way]) for name, outcomes in rows.items() if way in outcomes and not outcomes[way].is_good(WAYS[way].bound)]
        name, worst = max(over, key=lambda one: float("inf") if one[1].percent is None else one[1].percent, default=("none", None))
        count = sum(way in outcomes for outcomes in rows.values())
        text = f"`{name}` {worst.cell(float('inf')).strip('*')}" if worst else name
        lines.append(f"| {WAYS[way].title} | {WAYS[way].bound:g} % | {len(over)} of {count} | {text} |")
    return lines


def table(rows, ways, has_command):
    """A row for each program; cells over their bound are bold."""
    head, rule = ("case | command", "--- | ---") if has_command else ("program", "---")
    lines = [f"| {head} | " + " | ".join(WAYS[way].title for way in ways) + " |", f"| {rule} |" + " --- |" * len(ways)]
    for name, outcomes in rows.items():
        first = f"{name} | `{re.sub(r'[#{}]', '', CASES[name][0])}`" if has_command else name
        lines.append(f"| {first} | " + " | ".join(outcomes[way].cell(WAYS[way].bound) if way in outcomes else "" for way in ways) + " |")
    return lines


def loads(rows, ways):
    """The load average before the programs: median and most."""
    parts = []
    for way in ways:
        load = sorted(outcomes[way].load for outcomes in rows.values() if way in outcomes and outcomes[way].load is not None)
        parts.append(f"{WAYS[way].title} {load[len(load) // 2]:.1f}, {load[-1]:.1f}" if load else f"{WAYS[way].title} none")
    return "Load average before a program, median and most: " + "; ".join(parts) + "."


def print_tables(rows, ways, took_s):
    """rows: {case: {way: outcome}}; took_s: {way: seconds}."""
    commit = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "describe", "--always", "--dirty"], capture_output=True,
                            text=True, check=False).stdout.strip()
    took = ", ".join(f"{WAYS[way].title} {took_s[way] / 60:.1f}" for way in ways if way in took_s)
    over = {name: outcomes for name, outcomes in rows.items() if any(not outcome.is_good(WAYS[way].bound) for way, outcome in outcomes.items())}
    print(f"\n{time.strftime('%Y-%m-%d %H:%M')}, commit {commit or 'not known'}, Linux {os.uname().release}, {os.cpu_count()} processors.")
    print(f"{loads(rows, ways)}\nMinutes: {took}.")
    for title, lines in (("docs/truth.md", summary(rows, ways)), ("tests/truth/README.md", table(over, ways, False)), ("all", table(rows, ways, True))):
        print(f"\n{title}:\n\n" + "\n".join(lines), flush=True)
