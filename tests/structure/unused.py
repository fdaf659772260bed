#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""unused.py BUILD_DIR: no public function or object of ours that no program needs, and none that only its own file needs and no test. What the
compiler has put into the object files of a build says it. --self-test CC: planted ones are found."""
import collections, json, os, re, subprocess, sys, tempfile

FOLDERS = ("common", "proto", "storage", "collector", "aggregator", "reporter", "cli", "deploy")
OURS = re.compile(r"wp_(?!_)")  # not wp__pprof__..., which protoc-c makes
GENERATED = re.compile(r"\.pb-c\.c\.o$")
# Only tests call them, and no other way shows what they say.
FOR_TESTS = {"wp_dictionary_bytes", "wp_jit_map_refused", "wp_jit_map_taken", "wp_store_set_map_size"}


def made_of(build):
    """Objects that the build makes now: those of sources that are gone lie there, too. None: it does not say."""
    path = f"{build}/compile_commands.json"
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return {f"{build}/{name}" for name in re.findall(r" -o (\S+\.o)\b", file.read())}


def objects(build, folders):
    """Those that the build makes: one of a source that is gone may still lie there."""
    with open(f"{build}/compile_commands.json", encoding="utf-8") as file:
        made = [os.path.join(one["directory"], re.search(r" -o (\S+)", one["command"])[1]) for one in json.load(file)]
    return [path for path in made if os.path.relpath(path, build).split("/")[0] in folders and not GENERATED.search(path) and os.path.exists(path)]


def symbols(paths):
    """(what each file defines, which files need what)"""
    defined, needed = collections.defaultdict(set), collections.defaultdict(set)
    for start in range(0, len(paths), 200):
        said = subprocess.run(["nm", "-A", "--no-sort", *paths[start:start + 200]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False).stdout
        for path, kind, name in re.findall(r"^(.*?):\s*[0-9a-f]*\s+(\w)\s+(\S+)$", said, re.M):
            if not OURS.match(name):
                continue
            if kind == "U":
                needed[name].add(path)
            elif kind in "TDBRC":
                defined[path].add(name)
    return defined, needed


def needed_inside(path):
    """What the code and data of an object file refer to."""
    said = subprocess.run(["objdump", "-r", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    found, is_code = set(), False
    for line in said.splitlines():
        if line.startswith("RELOCATION RECORDS FOR ["):
            is_code = not line.startswith(("RELOCATION RECORDS FOR [.debug", "RELOCATION RECORDS FOR [.eh_frame"))
        elif is_code and (match := re.match(r"[0-9a-f]+ \S+\s+(\w+)", line)):
            found.add(match[1])
    return found | inlined(path)


def inlined(path):
    """What an optimising compiler has put into its callers, as the debugging information says."""
    said = subprocess.run(["readelf", "--debug-dump=info", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return {name for entry in re.split(r"^ <", said, flags=re.M) if "(DW_TAG_subprogram)" in entry and "DW_AT_inline" in entry
            for name in re.findall(r"DW_AT_name .*?: (\w+)$", entry, re.M)}


def breaches(build, folders=FOLDERS, tests=("tests",)):
    defined, needed = symbols(objects(build, folders))
    by_tests = symbols(objects(build, tests))[1]
    for path in sorted(defined):
        lonely = {name for name in defined[path] if not needed[name]}
        inside = needed_inside(path) if lonely else set()
        for name in sorted(lonely):
            if name not in inside and name not in FOR_TESTS:
                yield f"{os.path.basename(path)[:-2]}: {name}: no program needs it" + (", tests alone do" if by_tests[name] else "")
            elif name in inside and not by_tests[name]:
                yield f"{os.path.basename(path)[:-2]}: {name}: nothing but its own file needs it: make it static"
            elif name in inside and name in FOR_TESTS:
                yield f"{name}: needed, and still among FOR_TESTS"


def self_test(compiler, *flags):
    texts = {"common/one.c": "int wp_used(void); int wp_dead(void); int wp_own(void); int wp_shown(void);\n"
                             "int wp_dead(void) { return 1; }\nint wp_own(void) { return 2; }\nint wp_shown(void) { return 3; }\n"
                             "int wp_used(void) { return wp_own() + wp_shown(); }\n",
             "cli/two.c": "int wp_used(void); int main(void) { return wp_used(); }\n", "tests/three.c": "int wp_shown(void); int main(void) { return wp_shown(); }\n"}
    with tempfile.TemporaryDirectory() as build:
        with open(f"{build}/compile_commands.json", "w", encoding="ascii") as file:
            json.dump([{"directory": build, "command": f"cc -o {name}.o -c {name}"} for name in texts], file)
        for name, text in texts.items():
            os.makedirs(f"{build}/{os.path.dirname(name)}", exist_ok=True)
            with open(f"{build}/{name}", "w", encoding="ascii") as file:
                file.write(text)
            subprocess.run([compiler, *flags, "-fPIE", "-c", f"{build}/{name}", "-o", f"{build}/{name}.o"], check=True)
        found = list(breaches(build))
    return found == ["one.c: wp_dead: no program needs it", "one.c: wp_own: nothing but its own file needs it: make it static"] or print(found)


def main():
    if sys.argv[1] == "--self-test":
        failed = not (self_test(sys.argv[2]) and self_test(sys.argv[2], "-O1", "-g"))
    else:
        found = list(breaches(sys.argv[1]))
        print("\n".join(found))
        failed = bool(found)
    print("0 passed, 1 failed" if failed else "1 passed, 0 failed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
