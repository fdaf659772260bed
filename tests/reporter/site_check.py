#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every page of a site: links lead somewhere, nothing leads to another host, no element or attribute but ours.

site_check.py DIR; prints what is wrong and exits 1."""
import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

ELEMENTS = set("""html head meta title link script body a header nav button main h1 h2 p ol ul li dl div dt dd small bdi code
section details summary abbr time table thead tbody tr th td span svg rect text path line g footer""".split())
ATTRIBUTES = set("""lang charset http-equiv content name rel href src defer class data-view id type hidden aria-label
aria-hidden aria-current role scope title data-v data-search data-whole viewbox preserveaspectratio width height x y x1 x2 y1 y2 rx d dy
text-anchor transform datetime data-moment tabindex""".split())
VOID = {"meta", "link"}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.path, self.links, self.ids, self.faults, self.open = path, [], set(), [], []

    def fault(self, text):
        self.faults.append(f"{self.path}:{self.getpos()[0]}: {text}")

    def handle_starttag(self, tag, attrs):
        if tag not in ELEMENTS and not (tag == "title"):
            self.fault(f"unexpected element <{tag[:40]}>")
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.fault(f"unexpected attribute {name[:40]} on <{tag}>")
            if name in ("href", "src"):
                self.links.append((self.getpos()[0], value or ""))
            if name == "id":
                if value in self.ids:
                    self.fault(f"id {value} twice")
                self.ids.add(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.fault(f"</{tag}> closes nothing")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()


def check_page(root, path, faults, seen):
    with open(path, encoding="utf-8", errors="strict") as file:
        text = file.read()
    page = Page(os.path.relpath(path, root))
    page.feed(text)
    page.close()
    if page.open:
        page.fault(f"left open: {page.open}")
    if "Content-Security-Policy" not in text:
        page.fault("no content security policy")
    for line, link in page.links:
        target, _ = urldefrag(link)
        if "://" in target or target.startswith("//") or target.split("/")[0].endswith(":"):
            faults.append(f"{page.path}:{line}: leads to another place: {link[:80]}")
            continue
        file = os.path.normpath(os.path.join(os.path.dirname(path), unquote(target))) if target else path
        if not os.path.abspath(file).startswith(os.path.abspath(root) + os.sep):
            faults.append(f"{page.path}:{line}: leads out of the site: {link[:80]}")
        elif not os.path.isfile(file):
            faults.append(f"{page.path}:{line}: dead link {link[:80]}")
        elif file.endswith(".html"):
            seen.add(os.path.abspath(file))
    faults.extend(page.faults)


def main():
    root = sys.argv[1]
    faults, seen, pages, reached = [], {os.path.abspath(os.path.join(root, "index.html"))}, set(), set()
    while seen - reached:
        path = sorted(seen - reached)[0]
        reached.add(path)
        check_page(root, path, faults, seen)
    for folder, _, names in os.walk(root):
        pages.update(os.path.abspath(os.path.join(folder, name)) for name in names if name.endswith(".html"))
        for name in names:
            if name.endswith((".css", ".js")):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    code = file.read()
                if name.endswith(".css") and ("url(" in code or "@import" in code):
                    faults.append(f"{name}: the style sheet asks for another file")
                if not name.endswith("-data.js") and any(word in code for word in
                        ("innerHTML", "outerHTML", "document.write", "eval(", "new Function", "http:", "https:", "fetch(",
                         "XMLHttpRequest", "insertAdjacentHTML")):
                    faults.append(f"{name}: something that a page of names must not use")
    for path in sorted(pages - reached):
        faults.append(f"{os.path.relpath(path, root)}: no link leads here")
    for fault in faults:
        print(fault)
    print(f"{len(reached)} pages checked, {len(faults)} faults")
    return 1 if faults or not reached else 0


if __name__ == "__main__":
    sys.exit(main())
