# SPDX-License-Identifier: Apache-2.0
"""What compare.py found, in Markdown: the summary of docs/truth.md and the table of README.md."""
import os
import subprocess
import time

from truth_cases import WAYS


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


def table(rows, ways):
    """A row for each program; cells over their bound are bold."""
    lines = ["| program | " + " | ".join(WAYS[way].title for way in ways) + " |", "| --- |" + " --- |" * len(ways)]
    for name, outcomes in rows.items():
        lines.append(f"| {name} | " + " | ".join(outcomes[way].cell(WAYS[way].bound) if way in outcomes else "" for way in ways) + " |")
    return lines


def replaced(text, lines):
    """The text with these lines in the place of its table with the same first column."""
    first = " ".join(lines[0].split()[:2])
    old = text.splitlines()
    at = next(i for i, line in enumerate(old) if line.startswith(first + " |"))
    end = next((i for i in range(at, len(old)) if not old[i].startswith("|")), len(old))
    return "\n".join(old[:at] + lines + old[end:]) + "\n"


def loads(rows, ways):
    """The load average before the programs: median and most."""
    parts = []
    for way in ways:
        load = sorted(outcomes[way].load for outcomes in rows.values() if way in outcomes and outcomes[way].load is not None)
        parts.append(f"{WAYS[way].title} {load[len(load) // 2]:.1f}, {load[-1]:.1f}" if load else f"{WAYS[way].title} none")
    return "Load average before a program, median and most: " + "; ".join(parts) + "."


def print_tables(rows, ways, took_s, do_update):
    """rows: {case: {way: outcome}}; took_s: {way: seconds}."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    commit = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False).stdout.strip()
    took = ", ".join(f"{WAYS[way].title} {took_s[way] / 60:.1f}" for way in ways if way in took_s)
    print(f"\n{time.strftime('%Y-%m-%d %H:%M')}, commit {commit or 'not known'}, Linux {os.uname().release}, {os.cpu_count()} processors.")
    print(f"{loads(rows, ways)}\nMinutes: {took}.")
    for path, lines in (("docs/truth.md", summary(rows, ways)), ("tests/truth/README.md", table(rows, ways))):
        print(f"\n{path}:\n\n" + "\n".join(lines), flush=True)
        if do_update:
            with open(f"{root}/{path}", encoding="utf-8") as file:
                text = replaced(file.read(), lines)
            with open(f"{root}/{path}", "w", encoding="utf-8") as file:
                file.write(text)
