# SPDX-License-Identifier: Apache-2.0
"""What a C file includes, declares and defines, as text says it: enough for this tree's style, no compiler is asked."""
import re

HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
FUNCTION = re.compile(
    r"^(?!static\b|typedef\b|return\b|#)(?:[A-Za-z_]\w*[ \t\n*]+)+\**(\w+)\s*\((?:[^;{}]|\{0\})*?\)"
    r"\s*(?:__attribute__\s*\(\(.*?\)\)\s*)*([;{])", re.M | re.S)
DEFINITION = re.compile(
    r"^(?!typedef\b|return\b|else\b|#)(?:[A-Za-z_]\w*[ \t\n*]+)+\**(\w+)\s*\(((?:[^;{}()]|\([^;{}()]*\))*)\)"
    r"\s*(?:__attribute__\s*\(\(.*?\)\)\s*)*\{", re.M | re.S)
TYPE = re.compile(r"^[ \t]*(?:static const )?(?:struct|enum|union)\s+(\w+)\s*\{", re.M)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
ENUM = re.compile(r"\benum(?:\s+\w+)?\s*\{([^}]*)\}")
EXTERN = re.compile(r"^extern\s[^;()]*?\b(\w+)\s*(?:\[[^\]]*\])*\s*;", re.M)
OBJECT = re.compile(r"^const\s[^;(){}=]*?\b(\w+)\s*(?:\[[^\]]*\])*\s*=", re.M)


def code_of(text):
    """Without comments and texts."""
    return HIDDEN.sub(lambda match: '""' if match[0][0] == '"' else " ", text)


def includes(text):
    return INCLUDE.findall(text)


def declared(text):
    """Functions and objects that a header says are somewhere."""
    code = code_of(text)
    return [name for name, end in FUNCTION.findall(code) if end == ";"] + EXTERN.findall(code)


def defined(text):
    code = code_of(text)
    return [name for name, end in FUNCTION.findall(code) if end == "{"] + OBJECT.findall(code)


def parameters(code):
    """(function, how many) of each that is defined there; `code` is as code_of gives it."""
    for name, inside in DEFINITION.findall(code):
        flat = re.sub(r"\([^()]*\)", "", inside)
        yield name, 0 if flat.strip() in ("", "void") else flat.count(",") + 1


def named(code):
    """Types, macros and enumerators that are defined there."""
    enumerators = (item.split("=")[0].strip() for inside in ENUM.findall(code) for item in inside.split(","))
    return TYPE.findall(code) + MACRO.findall(code) + [item for item in enumerators if item]


def circles(graph):
    """The sets of more than one node that lead to each other (Tarjan, without recursion)."""
    number, low, stack, inside, found = {}, {}, [], set(), []
    for root in sorted(graph):
        if root in number:
            continue
        work = [(root, iter(sorted(graph[root])))]
        number[root] = low[root] = len(number)
        stack.append(root)
        inside.add(root)
        while work:
            node, ways = work[-1]
            for to in ways:
                if to not in number:
                    number[to] = low[to] = len(number)
                    stack.append(to)
                    inside.add(to)
                    work.append((to, iter(sorted(graph[to]))))
                    break
                if to in inside:
                    low[node] = min(low[node], number[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    circle = set()
                    while node not in circle:
                        circle.add(stack.pop())
                    inside -= circle
                    if len(circle) > 1:
                        found.append(sorted(circle))
    return found
