#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bounded_run.py BUILD_DIR [--preset P] [--seconds S] [--found DIR] [TARGET]...: builds the libFuzzer targets in BUILD_DIR (the preset "fuzz", with clang) and
runs each for S seconds from the kept corpus, one at a time; what is found on the way to new code is kept in DIR, or not at all. Prints a line of JSON for each.
Exit status 1: one of them has a finding, or did not run."""
import argparse, glob, json, os, re, subprocess, sys, tempfile

import corpus

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))


def build(folder, preset, names):
    if not os.path.exists(folder + "/build.ninja"):
        subprocess.run(["cmake", "--preset", preset, "-S", TREE, "-B", folder], cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["nice", "-n", "5", "cmake", "--build", folder, "--target", *("fuzz_" + name for name in names)], check=True, stdout=subprocess.DEVNULL)


def fuzz(folder, name, seconds, found, artifacts):
    kept = artifacts + "/../kept"
    corpus.unpack(kept, name)
    run = subprocess.run([f"{folder}/bin/fuzz_{name}", f"-max_total_time={seconds}", "-print_final_stats=1", "-verbosity=0", "-rss_limit_mb=1024",
                          f"-artifact_prefix={artifacts}/", found, f"{kept}/{name}"], capture_output=True, text=True, errors="replace",
                         check=False, timeout=seconds + 300)
    executed = re.search(r"number_of_executed_units:\s*(\d+)", run.stderr)
    count = int(executed[1]) if executed else 0
    print(json.dumps({"target": name, "seconds": seconds, "executions": count, "status": run.returncode}), flush=True)
    if run.returncode or not count:
        print(run.stderr[-4000:], file=sys.stderr)
        for path in glob.glob(artifacts + "/*"):
            with open(path, "rb") as file:
                print(f"{name}: {os.path.basename(path)}: {file.read(2048).hex()}", file=sys.stderr)
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description="Runs the fuzzers for a bounded time.")
    parser.add_argument("folder")
    parser.add_argument("--preset", default="fuzz")
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--found")
    parser.add_argument("targets", nargs="*")
    given = parser.parse_intermixed_args()
    names = given.targets or corpus.targets()
    build(os.path.abspath(given.folder), given.preset, names)
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="wakepath-fuzz-") as holder:
            os.makedirs(holder + "/artifacts")
            found = f"{given.found or holder}/{name}"
            os.makedirs(found, exist_ok=True)
            failed += fuzz(os.path.abspath(given.folder), name, given.seconds, found, holder + "/artifacts")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
