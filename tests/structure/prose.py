#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prose.py TREE | --list TREE | --self-test: the pages (docs/*.md, docs/decisions, README.md, CONTRIBUTING.md) are short and plain.
Links of all *.md lead somewhere, anchors included, and each table has a head. Words of docs/, long sentences, long lines of prose and of
tables, and retired words outside code (in manual pages, too) stay within bounds, which may only be lowered. --list prints what counts."""
import glob
import os
import re
import sys
import tempfile

LINE_LIMIT = 120
SENTENCE_LIMIT = 35  # words
# All pages together; lower them when the figures fall.
BOUNDS = {"words of docs/": 30000, "long sentences": 0, "long rows": 0, "long lines": 0, "tables without a head": 0, "retired words": 0}
# Ours -> the field's. Names of files, options and metrics stand in backquotes and are not looked at.
RETIRED = {
    r"(thinning|thinned)": "load shedding",
    r"line-?ups?": "replay queue",
    r"side-?bands?": "mmap events",
    r"heal(ing|ed|s)?": "gap repair, repaired",
    r"name[ _](desk|keep)": "symbol broker, symbol cache",
    r"wedges?": "hull",
    r"(drawn |chosen |two |one )?by lot": "sampled, at random",
    r"shel(f|ves)": "spool files",
    r"stretch(es)?": "interval",
    r"(outlet|outbox|leftovers)": "uplink, send queue, backlog",
    r"memo": "stack cache",
    r"kept[ _]checks": "stored checks",
    r"metadata[ _]room": "metadata limit",
    r"for the eye alone": "dry run",
    r"in the night( before)?": "(the present figure)",
    r"in our words": "(say it)",
}

# Ours -> plain words.
DIALECT = {
    r"(told|tells?|telling) of": "reported, reports",
    r"told (again|anew)": "repeated, reissued",
    r"in vain": "without effect",
    r"of old": "older",
    r"(and|or) the like": "(name them)",
    r"seats?": "slot",
    r"(name |enrolment )?desks?": "broker, server",
    r"crossings?": "clock constraints",
    r"sealed": "closed",
}


def pages(tree):
    found = [name for pattern in ("docs/*.md", "docs/decisions/*.md", "README.md", "CONTRIBUTING.md")
             for name in glob.glob(os.path.join(tree, pattern))]
    return sorted(os.path.relpath(name, tree) for name in found)


def all_markdown(tree):
    skip = {"build", ".git", "_deps", "node_modules"}
    for folder, folders, names in os.walk(tree):
        folders[:] = [one for one in folders if one not in skip]
        yield from (os.path.relpath(os.path.join(folder, name), tree) for name in names if name.endswith(".md"))


def read(tree, name):
    with open(os.path.join(tree, name), encoding="utf-8") as file:
        return file.read()


def without_fences(text):
    """The same number of lines; those of fenced blocks are empty."""
    return re.sub(r"^(```|~~~).*?^\1[^\n]*$", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)


def without_code(text):
    """Neither blocks nor backquoted words, nor the targets of links."""
    text = re.sub(r"^ {4}(?! *[-*] |\s*\d+\. ).*$", "", without_fences(text), flags=re.M)
    text = re.sub(r"``.*?``|`[^`]*`", "`", text, flags=re.S)
    return re.sub(r"\]\([^)]*\)", "]", text)


def anchors(text):
    """As GitHub makes them of headings."""
    found, seen = set(), {}
    for title in re.findall(r"^#{1,6} +(.*?) *#*$", without_fences(text), re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return found


def links(tree, name, text):
    spoken = re.sub(r"`[^`\n]*`", "", without_fences(text))
    for target in re.findall(r"\]\(([^)\s]+)\)", spoken):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        if not os.path.exists(os.path.join(tree, path)):
            yield f"{name}: the link {target} leads nowhere"
        elif anchor and path.endswith(".md") and anchor not in anchors(read(tree, path)):
            yield f"{name}: {path} has no heading for #{anchor}"


def is_row(line):
    return line.startswith("|")


def long_lines(text):
    for number, line in enumerate(without_fences(text).split("\n"), 1):
        if len(line) > LINE_LIMIT and not is_row(line) and not line.startswith("    "):
            yield number, f"{len(line)} characters, at most {LINE_LIMIT}"


def long_rows(text):
    for number, line in enumerate(without_fences(text).split("\n"), 1):
        if len(line) > LINE_LIMIT and is_row(line):
            yield number, f"a row of {len(line)} characters"


def headless_tables(text):
    """A line of dashes that does not stand below a row, as Markdown wants it; what follows is no table then."""
    lines = without_fences(text).split("\n")
    for number, line in enumerate(lines, 1):
        if re.match(r"\|[ :|-]*-{3}[ :|-]*$", line) and not (number > 1 and is_row(lines[number - 2])):
            yield number, "a table without a head"


def retired(text):
    for number, line in enumerate(without_code(text).split("\n"), 1):
        for ours, standard in {**RETIRED, **DIALECT}.items():
            if hit := re.search(rf"\b{ours}\b", line, re.I):
                yield number, f"'{hit[0]}' is retired: {standard}"


def sentences(text):
    """Paragraphs, items and cells, cut at full stops."""
    units, open_lines = [], []
    for line in without_code(text).split("\n") + [""]:
        is_begin = not line.strip() or line.startswith(("#", "|", "!", ">")) or re.match(r"\s*([-*]|\d+\.) ", line)
        if is_begin:
            units.append(" ".join(open_lines))
            open_lines = []
        if is_row(line):
            units.extend(line.strip("|").split("|"))
        elif line.strip() and not line.startswith("#"):
            open_lines.append(re.sub(r"^\s*([-*]|\d+\.) ", "", line).strip())
    for unit in units:
        yield from re.split(r"(?<=[.!?])[)*\"']*\s+(?=\S)", unit)


def long_sentences(text):
    for sentence in sentences(text):
        count = len([word for word in sentence.split() if re.search(r"\w|`", word)])
        if count > SENTENCE_LIMIT:
            yield 0, f"a sentence of {count} words: {sentence[:70]}"


LISTED = {"long sentences": long_sentences, "long rows": long_rows, "long lines": long_lines, "tables without a head": headless_tables,
          "retired words": retired}


def survey(tree):
    """Figures of all pages, and what each is made of."""
    texts = {name: read(tree, name) for name in pages(tree)}
    manuals = sorted(glob.glob(os.path.join(tree, "docs/man/*.scd")))
    listed = {what: [f"{name}:{number}: {why}" for name, text in texts.items() for number, why in find(text)]
              for what, find in LISTED.items()}
    listed["retired words"] += [f"{os.path.relpath(name, tree)}:{number}: {why}" for name in manuals for number, why in retired(read(tree, name))]
    figures = {"words of docs/": sum(len(text.split()) for name, text in texts.items() if name.startswith("docs/"))}
    return {**figures, **{what: len(found) for what, found in listed.items()}}, listed


def check(tree, bounds):
    found = []
    for name in all_markdown(tree):
        found += links(tree, name, read(tree, name))
    figures, listed = survey(tree)
    for what, bound in bounds.items():
        if figures[what] > bound:
            found += listed.get(what, []) + [f"{figures[what]} {what} in the pages, at most {bound}"]
    return found, figures


# A page, and a part of the breach that must be reported; None: must be clean. The bounds are those of `small`.
PLANTS = (
    ("[a](gone.md)\n", "leads nowhere"),
    ("[a](a.md#no-such-part)\n", "no heading for #no-such-part"),
    ("# A part\n\n[a](a.md#a-part), [b](#a-part), `[c](gone.md)`\n", None),
    ("x" * 121 + "\n", "121 characters"),
    ("```\n" + "x" * 121 + "\n```\n", None),
    ("The healed switch.\n", "'healed' is retired"),
    ("`wakepath_thinned` and health, in 34 words.\n", None),
    ("\n".join(["word " * 12] * 3) + ".\n", "1 long sentences"),
    ("word " * 20 + ".\n" + "word " * 20 + ".\n", None),
    ("| " + "row " * 32 + "|\n", "1 long rows"),
    ("word. " * 20 + "\n" + "word. " * 20 + "\n" + "word. " * 20 + "\n", "60 words of docs/ in the pages"),
    ("Of it:\n\n| --- | --- |\n| a | b |\n", "a table without a head"),
    ("| a | b |\n| --- | :-: |\n| a | b |\n", None),
)


def self_test():
    small = {**dict.fromkeys(BOUNDS, 0), "words of docs/": 50}
    for text, want in PLANTS:
        with tempfile.TemporaryDirectory() as tree:
            os.mkdir(os.path.join(tree, "docs"))
            with open(os.path.join(tree, "docs/a.md"), "w", encoding="utf-8") as file:
                file.write(text)
            found, _ = check(tree, small)
        if want is None and found:
            yield f"{text[:40]!r}: clean, yet: {found}"
        if want is not None and not any(want in line for line in found):
            yield f"{text[:40]!r}: '{want}' was not found, only {found}"


def main():
    if sys.argv[1:2] == ["--list"]:
        for found in survey(sys.argv[2])[1].values():
            print("\n".join(found))
        return 0
    if sys.argv[1:] == ["--self-test"]:
        found = list(self_test())
    else:
        found, figures = check(sys.argv[1], BOUNDS)
        print(", ".join(f"{count} {what} (at most {BOUNDS[what]})" for what, count in figures.items()))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
