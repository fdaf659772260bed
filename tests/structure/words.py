#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""words.py TREE | --self-test: comments, help texts, log lines and errors speak the field's words. Of C and .proto files comments and texts
are read, of what deploy/ installs the comments. Refused are the retired words of prose.py, phrases of a private dialect, and pages of docs/
that are not there. Names in code (with an underscore, or in backquotes) and texts that are one name (keys, labels) are not looked at."""
import os
import re
import sys
import tempfile

from prose import DIALECT, RETIRED

FOLDERS = ("aggregator", "cli", "collector", "common", "proto", "reporter", "storage")
# Of texts alone: an error says what a thing is not.
ERRORS = {
    r"(?<!there )is no (?!longer\b|more\b|such\b)\w+": "is not a ...",
    r"(that|which) (is|are) none": "an invalid ..., an unknown ...",
    r"it is none": "it is not one",
}
HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
TEXTS = re.compile(r'"(?:\\.|[^"\\\n])*"(?:\s*(?:PRI\w+\s*)?"(?:\\.|[^"\\\n])*")*')


def pattern(words):
    return re.compile(r"(?<![\w`-])(?:" + "|".join(f"(?P<w{i}>{one})" for i, one in enumerate(words)) + r")(?![\w`-])", re.I)


COMMENT_WORDS = {**RETIRED, **DIALECT}
TEXT_WORDS = {**COMMENT_WORDS, **ERRORS}


def found_in(text, words, compiled):
    for hit in compiled.finditer(text):
        yield hit.start(), f"'{hit[0]}' is retired: {list(words.values())[int(hit.lastgroup[1:])]}"


COMMENT_PATTERN, TEXT_PATTERN = pattern(COMMENT_WORDS), pattern(TEXT_WORDS)


def flat(piece):
    """One line: a comment's or a text's breaks are blanks, and as long as they were."""
    return re.sub(r"\n[ \t]*(\*(?!/)|//)?", lambda gap: " " * len(gap[0]), piece)


def of_c(text):
    """(offset, why) of each breach."""
    for hidden in HIDDEN.finditer(text):
        if hidden[0][0] == "/":
            plain = re.sub(r" +", " ", flat(hidden[0]))
            yield from ((hidden.start(), why) for _, why in found_in(plain, COMMENT_WORDS, COMMENT_PATTERN))
    code = re.sub(r"//[^\n]*|/\*.*?\*/", lambda gone: re.sub(r"[^\n]", " ", gone[0]), text, flags=re.S)
    for texts in TEXTS.finditer(code):
        plain = "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', texts[0]))
        if re.fullmatch(r"[\w./%-]*", plain) and plain == plain.lower():  # a name
            continue
        yield from ((texts.start(), why) for _, why in found_in(plain, TEXT_WORDS, TEXT_PATTERN))


def of_comments(text):
    """Of files whose comments begin with #."""
    for line in re.finditer(r"^\s*#(?!!)(.*)$|\s#\s(.*)$", text, re.M):
        yield from ((line.start() + 1, why) for _, why in found_in(line[0], COMMENT_WORDS, COMMENT_PATTERN))


def files(tree):
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(tree, top)):
            yield from ((os.path.join(folder, name), of_c) for name in sorted(names) if name.endswith((".c", ".h", ".proto")))
    for folder, _, names in os.walk(os.path.join(tree, "deploy")):
        yield from ((os.path.join(folder, name), of_comments) for name in sorted(names) if not name.endswith((".json", ".md", ".svg", ".c")))


def pages_named(tree, text):
    for page in re.finditer(r"\bdocs/[\w/-]+\.(?:md|scd)\b", text):
        if not os.path.exists(os.path.join(tree, page[0])):
            yield page.start(), f"there is no {page[0]}"


def check(tree):
    found = []
    for name, find in files(tree):
        with open(name, encoding="utf-8") as file:
            text = file.read()
        found += [f"{os.path.relpath(name, tree)}: {why}" for _, why in pages_named(tree, text)]
        found += [f"{os.path.relpath(name, tree)}:{text.count(chr(10), 0, at) + 1}: {why}" for at, why in find(text)]
    return found


# A file, its text, and a part of the breach that must be reported; None: must be clean.
PLANTS = (
    ("common/a.h", "/* A switch that was healed. */\n", "'healed' is retired"),
    ("common/a.h", "/* One that is told\n * of. */\n", "'told of' is retired"),
    ("common/a.c", "int x; // its seat\n", "a.c:1: 'seat' is retired"),
    ("common/a.c", 'wp_log("the sideband was lost");\n', "'sideband' is retired"),
    ("common/a.c", 'wp_log("was "\n    "healed");\n', "'healed' is retired"),
    ("common/a.c", 'wp_error_set("\'%s\' is no capture");\n', "'is no capture' is retired"),
    ("common/a.c", 'wp_error_set("there is no capture");\n', None),
    ("common/a.c", "/* What is no capture stays. */\n", None),
    ("common/a.c", 'put("healed"); put("stretches"); put_other("healed_in");\n', None),
    ("common/a.c", "/* `healed` and wp_seat. */\nint healed;\n", None),
    ("common/a.h", "/* docs/gone.md says why. */\n", "there is no docs/gone.md"),
    ("deploy/a.conf", "frequency = 99 # thinning\n", "'thinning' is retired"),
    ("deploy/a.conf", "thinning = 99 # frequency\n", None),
    ("tests/a.c", "/* Healed. */\n", None),
)


def self_test():
    for name, text, want in PLANTS:
        with tempfile.TemporaryDirectory() as tree:
            os.makedirs(os.path.join(tree, os.path.dirname(name)))
            with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
                file.write(text)
            found = check(tree)
        if want is None and found:
            yield f"{text!r}: clean, yet: {found}"
        if want is not None and not any(want in line for line in found):
            yield f"{text!r}: '{want}' was not found, only {found}"


if __name__ == "__main__":
    problems = list(self_test()) if sys.argv[1:] == ["--self-test"] else check(sys.argv[1])
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
