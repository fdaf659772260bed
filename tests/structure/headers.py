#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what headers promise: every function that one declares has a comment, on lines of its own directly above or beside the prototype.

    headers.py TREE          exits 1 and prints one line a function without one
    headers.py --self-test   plants such functions and wants them found
"""
import re
import sys

import arrows
import c_source

ELSEWHERE = ("tests/", "collector/bpf/")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)
# What else stands before a parenthesis outside of functions.
OTHERS = {"__attribute__", "__declspec", "_Alignas", "_Static_assert", "_Pragma", "defined", "sizeof", "typeof"}
CALLED = re.compile(r"\b(\w+)\s*\(")


def blank(text):
    """As long, with the same lines."""
    return re.sub(r"[^\n]", " ", text)


def outermost(text):
    """Without comments, texts, directives and all that stands in braces; offsets stay."""
    code = c_source.HIDDEN.sub(lambda hidden: blank(hidden[0]), text)
    code = DIRECTIVE.sub(lambda line: blank(line[0]), code)
    depth, kept = 0, []
    for char in code:
        depth -= char == "}"
        kept.append(char if depth <= 0 or char == "\n" else " ")
        depth += char == "{"
    return "".join(kept)


def line_at(text, offset):
    return text.count("\n", 0, offset) + 1


def commented(text):
    """Lines that a comment is on, and lines that end one which begins its line."""
    beside, above = set(), set()
    for hidden in c_source.HIDDEN.finditer(text):
        if hidden[0][0] != "/" or not re.search(r"\w", hidden[0]):
            continue
        last = line_at(text, hidden.end() - 1)
        beside.update(range(line_at(text, hidden.start()), last + 1))
        if not text[text.rfind("\n", 0, hidden.start()) + 1:hidden.start()].strip():
            above.add(last)
    return beside, above


def functions(text):
    """(name, first line, last line) of each prototype, and of the head of each that is defined there."""
    for part in re.finditer(r"[^;{}]+(?=[;{])", outermost(text)):
        names = [name for name in CALLED.findall(part[0]) if name not in OTHERS]
        if names and not re.match(r"\s*typedef\b", part[0]) and "=" not in part[0]:
            start = part.start() + len(part[0]) - len(part[0].lstrip())
            yield names[0], line_at(text, start), line_at(text, part.end())


def bare(texts):
    for name, text in texts.items():
        beside, above = commented(text)
        for function, first, last in functions(text):
            if first - 1 not in above and not beside.intersection(range(first, last + 1)):
                yield f"{name}:{first}: {function} has no comment: say what its caller cannot see"


def check(tree, names):
    headers = [name for name in names if name.endswith(".h") and not name.startswith(ELSEWHERE)]
    return list(bare({name: arrows.read(tree, name) for name in headers}))


# files, and a part of the breach that must be reported; None: must be clean
PLANTS = (
    ({"cli/a.h": "int wp_a(void);\n"}, "cli/a.h:1: wp_a has no comment"),
    ({"cli/a.h": "/* What it does. */\nint wp_a(void);\nint wp_b(void);\n"}, "cli/a.h:3: wp_b has no comment"),
    ({"cli/a.h": "int wp_a(void); /* What it does. */\nint wp_b(void);\n"}, "cli/a.h:2: wp_b has no comment"),
    ({"cli/a.h": "/* The file. */\n\nstruct wp_a *\nwp_b(\n    int c);\n"}, "cli/a.h:3: wp_b has no comment"),
    ({"cli/a.h": "/* */\nint wp_a(void);\n"}, "wp_a has no comment"),
    ({"cli/a.h": "#define A(b) \\\n    b(c) /* It. */\nint wp_a(void);\n"}, "cli/a.h:3: wp_a has no comment"),
    ({"cli/a.h": "static inline int wp_a(void)\n{\n    return 0; /* none */\n}\n"}, "wp_a has no comment"),
    ({"cli/a.h": "void wp_a(const char *b, ...) __attribute__((format(printf, 1, 2)));\n"}, "wp_a has no comment"),
    ({"cli/a.h": "struct wp_a {\n    int b; /* it */\n};\nint wp_b(struct wp_a (*c)[2]);\n"}, "cli/a.h:4: wp_b has no comment"),
    ({"cli/a.h": "/* What it does,\n * and when. */\nint wp_a(\n    int b);\n// More.\nint wp_b(void);\n"}, None),
    ({"cli/a.h": "int wp_a(\n    int b); /* What it does. */\nvoid wp_b(int c /* ns */);\n"}, None),
    ({"cli/a.h": "/* What it does. */\nstatic inline int wp_a(void)\n{\n    return wp_b(';', \"}\");\n}\n"}, None),
    ({"cli/a.h": "#define WP_A(b) wp_c(b)\ntypedef int wp_d(int e);\nstruct wp_f {\n    int (*g)(int h);\n} __attribute__((packed));\n"
                 "_Static_assert(sizeof(struct wp_f) == 8, \"f\");\nextern const int wp_i[2];\n"}, None),
    ({"cli/a.c": "int wp_a(void);\n", "tests/a.h": "int wp_a(void);\n", "collector/bpf/a.h": "int wp_a(void);\n"}, None),
)


def main():
    if sys.argv[1:] == ["--self-test"]:
        found = arrows.self_test(PLANTS, check)
    else:
        found = check(sys.argv[1], arrows.files_of(sys.argv[1]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
