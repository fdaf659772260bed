#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No option is missing from a manual page or a completion; completions are asked in the shells themselves."""
import functools
import os
import pty
import re
import select
import subprocess
import sys
import unittest

BIN, MADE, SOURCE = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
PAGES = {"wakepath": "wakepath.1", "wakepath record": "wakepath-record.1", "wakepath top": "wakepath-top.1", "wakepath view": "wakepath-view.1",
         "wakepath measure": "wakepath-measure.1", "wakepath bisect": "wakepath-bisect.1",
         "wakepath status": "wakepath-status.1",
         "wakepath doctor": "wakepath-doctor.1", "wakepath perf-events": "wakepath-perf-events.1", "wakepath-collector": "wakepath-collector.8",
         "wakepath keygen": "wakepath-keygen.1", "wakepath enroll": "wakepath-enroll.1", "wakepath query": "wakepath-reporter.1", "wakepath log": "wakepath-reporter.1",
         "wakepath-aggregator": "wakepath-aggregator.8", "wakepath-reporter": "wakepath-reporter.1",
         "wakepath-store": "wakepath-store.1"}


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False,
                          **options)


@functools.cache
def page(name):
    """As man shows it."""
    return run("man", "-P", "cat", "-l", os.path.join(MADE, "man", name), env={"MANWIDTH": "200", **os.environ}).stdout


@functools.cache
def long_options(words):
    """Read from --help here by other means than the build's: a line that begins with an option."""
    program, *rest = words.split(" ")
    out = run(os.path.join(BIN, program), *rest, "--help").stdout
    return sorted(set(re.findall(r"^ +(?:-.,? +)?--([a-z][a-z0-9-]*)", out, re.M)))


def bash(line):
    script = '''source "$1"; read -ra COMP_WORDS <<<"$2"; [[ $2 == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=$2
        "$(complete -p "${COMP_WORDS[0]}" | sed 's/.*-F \\([^ ]*\\) .*/\\1/')"; printf '%s\\n' "${COMPREPLY[@]}"'''
    file = os.path.join(MADE, "completion/bash", line.split(" ")[0])
    done = run("bash", "--norc", "-c", script, "bash", file, line)
    assert not done.stderr, done.stderr
    return done.stdout.split()


def fish(line):
    file = os.path.join(MADE, "completion/fish", line.split(" ")[0] + ".fish")
    done = run("fish", "--no-config", "-c", f"source {file}; complete -C '{line}'")
    assert not done.stderr, done.stderr
    return [one.split("\t")[0] for one in done.stdout.splitlines()]


class Zsh:
    """A real one, started once: it reads long what it can complete."""

    def __init__(self):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, close_fds=True,
                                        start_new_session=True, env={"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": "/nonexistent"})
        os.close(slave)
        self.command(f"PS1='>> '; fpath=({MADE}/completion/zsh $fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=1000; "
                     "setopt AUTO_LIST NO_BEEP; unsetopt AUTO_MENU LIST_AMBIGUOUS; COLUMNS=200 LINES=500")

    def command(self, line):
        os.write(self.master, (line + "; print rea''dy\n").encode())
        assert "ready" in collect(self.master, lambda text: "ready" in text), line

    def complete(self, line):
        """Types the line and a tab, and reads what it shows."""
        os.write(self.master, (line + "\t\t").encode())
        text = collect(self.master, lambda text: False, quiet_s=1.5)
        os.write(self.master, b"\x15")  # nothing of the line is left
        self.command(":")
        return text

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def collect(master, is_enough, quiet_s=20.0):
    text = ""
    while not is_enough(text) and select.select([master], [], [], quiet_s)[0]:
        text += os.read(master, 65536).decode(errors="replace")
    return text


class ManualsTest(unittest.TestCase):
    def test_every_option_is_in_its_page(self):
        for words, file in PAGES.items():
            text = page(file)
            options = long_options(words)
            self.assertGreater(len(options), 2, words)
            for option in options:
                self.assertRegex(text, rf"--{option}(?![a-z-])", f"{file} lacks --{option}")

    def test_pages_are_well_formed(self):
        for name in os.listdir(os.path.join(MADE, "man")):
            if not name.endswith(".scd"):
                done = run("mandoc", "-T", "lint", "-W", "error", os.path.join(MADE, "man", name))
                self.assertEqual(done.stdout, "", name)

    def test_every_command_is_in_its_page(self):
        for program in ("wakepath", "wakepath-store"):
            text = page(program + ".1")
            commands = sorted(path.split(" ")[1] for path in self.table() if path.startswith(program + " ") and path.count(" ") == 1)
            self.assertGreater(len(commands), 7)
            for command in commands:
                self.assertRegex(text, rf"(?m)^ +{command}\b", program)

    def test_every_option_of_a_stores_commands_is_in_its_page(self):
        text, seen = page("wakepath-store.1"), 0
        for path, options in self.table().items():
            for option in options if path.startswith("wakepath-store ") else ():
                self.assertRegex(text, rf"--{option}(?![a-z-])", path)
                seen += 1
        self.assertGreater(seen, 60)

    def test_every_program_and_format_has_its_page(self):
        """Of what is installed: each program, each command of wakepath, each kind of file that our programs write or read."""
        pages = {name for name in os.listdir(os.path.join(MADE, "man")) if not name.endswith(".scd")}
        programs = {one for one in os.listdir(BIN) if re.fullmatch("wakepath(-[a-z]+)?", one)} - {"wakepath-demo"}
        self.assertEqual({one for one in programs if not {one + ".1", one + ".8"} & pages}, set())
        formats = {f"wakepath-{one}.5" for one in ("capture", "dump", "export", "keys", "metrics", "spool", "store")} | {"wakepath.conf.5"}
        self.assertEqual({name for name in pages if name.endswith(".5")}, formats)
        with open(os.path.join(SOURCE, "deploy/cmake/WakepathInstall.cmake"), encoding="utf-8") as file:
            installed = file.read()
        for name in pages:
            self.assertRegex(installed, rf"[ (]{re.escape(name)}[ )\n]", "no package has it")
            for other, section in re.findall(r"\b(wakepath[a-z.-]*)\((\d)\)", page(name)):
                self.assertIn(f"{other}.{section}", pages, name)
        with open(os.path.join(SOURCE, "docs/man/wakepath-export.5.scd"), encoding="utf-8") as file:
            told = {word for line in file if re.fullmatch(r"[a-z]+(, [a-z]+)*", line.strip()) for word in line.strip().split(", ")}
        _, can = run(os.path.join(BIN, "wakepath-reporter"), "--help").stdout.split("--format", 1)
        self.assertEqual({one for one in told if one not in can}, set())

    @staticmethod
    def table():
        found = {}
        with open(os.path.join(MADE, "options/all.tsv"), encoding="utf-8") as file:
            for line in file:
                fields = line.rstrip("\n").split("\t")
                found.setdefault(fields[0], set())
                if fields[1] == "o":
                    found[fields[0]].add(fields[3])
        return found

    def test_a_page_that_asks_for_nothing_known_fails(self):
        done = run("awk", "-v", f"table={MADE}/options/all.tsv", "-f", f"{SOURCE}/deploy/options/scdoc.awk", "/dev/stdin",
                   )
        self.assertEqual(done.returncode, 0)
        done = subprocess.run(["awk", "-v", f"table={MADE}/options/all.tsv", "-f", f"{SOURCE}/deploy/options/scdoc.awk"],
                              input="@OPTIONS wakepath-nobody@\n", capture_output=True, text=True, check=False)
        self.assertIn("nothing is known", done.stderr)


class CompletionTest(unittest.TestCase):
    def test_bash(self):
        self.assertEqual(bash("wakepath rec"), ["record"])
        self.assertEqual(bash("wakepath record --agg"), ["--aggregate"])
        commands = bash("wakepath store ")
        for command in ("cat", "ls", "prune", "verify"):
            self.assertIn(command, commands)
        self.assertEqual(sorted(bash("wakepath store ls --r")), ["--recursive"])
        self.assertEqual(bash("wakepath-collector --log-level wa"), ["warn"])
        self.assertEqual(bash("wakepath-reporter -f j"), ["json"])
        self.assertIn("/usr", bash("wakepath record --out /us"))
        self.assertIn("/etc/passwd", bash("wakepath-collector --config /etc/passw"))

    def test_bash_has_every_option(self):
        for words in PAGES:
            got = bash(words + " --")
            self.assertEqual(sorted(got), sorted("--" + one for one in long_options(words)), words)

    def test_fish(self):
        self.assertEqual(fish("wakepath rec"), ["record"])
        self.assertEqual(fish("wakepath record --aggr"), ["--aggregate"])
        self.assertEqual(fish("wakepath-collector --log-level wa"), ["warn"])
        for words in PAGES:
            got = fish(words + " --")
            for option in long_options(words):
                self.assertIn("--" + option, [one.rstrip("=") for one in got], words)

    def test_zsh(self):
        shell = Zsh()
        self.addCleanup(shell.close)
        self.assertIn("record", shell.complete("wakepath rec").replace("wakepath rec\x07", ""))
        self.assertIn("watch the host", shell.complete("wakepath r"))
        self.assertIn("--aggregate", shell.complete("wakepath record --aggr"))
        self.assertIn("warn", shell.complete("wakepath-collector --log-level="))
        for words in PAGES:
            got = shell.complete(words + " --")
            for option in long_options(words):
                self.assertIn("--" + option, got, words)


if __name__ == "__main__":
    unittest.main(verbosity=2)
