#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of the manuals and of the EXAMPLES of manual pages. Usage: docs_test.py BIN GENERATED SOURCE
  ```sh run      one shell a page, in an empty folder
  ```sh scene    one by one, where they find what they speak of (docs_scene.py); as the lines after "$ " of ```console
  ```sh run-on   by tests/machines/operator_test.py, on two hosts
  ```sh held     by nobody here: HELD says why, line by line
There are no others, and all options of our programs are real ones, in running text, too."""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN, MADE, SOURCE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
PAGES = sorted(glob.glob(os.path.join(SOURCE, "docs/*.md")) + [os.path.join(SOURCE, "README.md")])
PROGRAM = re.compile(r"wakepath(-[a-z]+)?$")
COMMAND = re.compile(r"(\$ |(wakepath(-[a-z]+)?|sudo|apt(-get)?|systemctl|journalctl|kubectl|docker|kustomize|cmake|curl|sbatch|git|cd|for|"
                     r"setpriv|python3|sh|bash) |\.?/?(tests|deploy)/|\./|/usr/|[A-Z_]+=\S+ )")
PACKAGES = "makes the packages: deploy_packages and machines_operator do, and install them"
CLUSTER = "needs a registry and a cluster: kubernetes_manifests and kubernetes_pods do what they can without"
FLEET = "needs hosts: machines_fleet_script does it to three"
SLURM = "needs a Slurm: slurm_live does it on two nodes"
LONG = "takes many minutes, and does not ask the network a second time"
NODE_EXPORTER = "is for a host with node-exporter installed; reporter_run_figures_test has the file"
HELD = {
    "deploy/quickstart.sh": "builds the tree once more; deploy_quickstart does",
    "cmake --preset release -DWP_TESTS=OFF && cmake --build build/release --target package": PACKAGES,
    "apt install ./build/release/packages/*.deb": PACKAGES,
    "systemctl enable --now wakepath-aggregator wakepath-collector wakepath-reporter.timer": "machines_operator does, one by one",
    "systemctl status 'wakepath-*'": "the same",
    "journalctl -u wakepath-aggregator -u wakepath-collector": "the same",
    "go tool pprof -http=: -tagfocus category=blocking_io main.pb.gz": "serves a page until it is ended; reporter_export has it read the file",
    "perun showdiff older.perf main.perf report": "Perun is not Debian's to give: exports.md says which was tried by hand",
    "sed -i 's/^#metrics-file/metrics-file/' /etc/wakepath/reporter.conf": NODE_EXPORTER,
    "chgrp wakepath /var/lib/prometheus/node-exporter": NODE_EXPORTER,
    "chmod g+w /var/lib/prometheus/node-exporter": NODE_EXPORTER,
    "docker build -f deploy/kubernetes/image/Dockerfile -t registry.example.org/wakepath:0.1.0 build/release/packages": CLUSTER,
    "docker push registry.example.org/wakepath:0.1.0": CLUSTER,
    "cd deploy/kubernetes": CLUSTER,
    "kustomize edit set image wakepath=registry.example.org/wakepath:0.1.0": CLUSTER,
    "kubectl apply -f namespace.yaml": CLUSTER,
    "./keys.sh | kubectl apply -n wakepath -f -": CLUSTER,
    "kubectl apply -k .": CLUSTER,
    "kubectl -n wakepath rollout status daemonset/wakepath-collector": CLUSTER,
    "kubectl -n wakepath port-forward service/wakepath-web 8080:80": CLUSTER,
    "/usr/lib/wakepath/fleet/fleet.sh --check --packages ./packages hosts": FLEET,
    "/usr/lib/wakepath/fleet/fleet.sh --packages ./packages hosts": FLEET,
    "sbatch --comment=wakepath=v1.2 job.sh": SLURM,
    "sbatch --comment=wakepath job.sh": SLURM,
    "/usr/lib/wakepath/slurm/report.sh --store /srv/wakepath/store --out /srv/wakepath/site --elements 50 --wait": SLURM,
    "WAKEPATH_BIN=build/release/bin tests/truth/compare.py --way all --table": "truth_quick runs a part of it, all takes an hour",
    "tests/more.sh cases": LONG,
    "WAKEPATH_BIN=build/dev/bin tests/truth/both_ways_test.py": "truth_both_ways does",
}


def blocks(page):
    """(info string, text) of each fenced block."""
    with open(page, encoding="utf-8") as file:
        return re.findall(r"^```((?:sh|console)\b[^\n]*)\n(.*?)^```$", file.read(), re.M | re.S)


def commands(info, text):
    """The commands of a block, without their remarks."""
    text = re.sub(r"\\\n\s*", "", text)
    lines = [line[2:] for line in text.splitlines() if line.startswith("$ ")] if info == "console" else text.splitlines()
    return [command for command in (re.sub(r"(^|\s+)#.*", "", line).strip() for line in lines) if command]


def loose(page):
    """What looks like a command and is in no ```sh block."""
    with open(page, encoding="utf-8") as file:
        text = re.sub(r"^```(?:sh|console)\b[^\n]*\n.*?^```$", "", file.read(), flags=re.M | re.S)
    fenced = [line for block in re.findall(r"^```[^\n]*\n(.*?)^```$", text, re.M | re.S) for line in block.splitlines()]
    begun = re.findall(r"\n\n    (?! )([^\n]+)", text)
    return [line for line in fenced + begun if COMMAND.match(line) and not re.match(r"[a-z-]+: ", line)]


def examples():
    """Manual page -> the commands of its EXAMPLES."""
    found = {}
    for path in sorted(glob.glob(os.path.join(SOURCE, "docs/man/*.scd"))):
        with open(path, encoding="utf-8") as file:
            part = re.search(r"^# EXAMPLES\n(.*?)(?=^# |\Z)", file.read(), re.M | re.S)
        for block in re.findall(r"^```\n(.*?)^```$", part.group(1) if part else "", re.M | re.S):
            found.setdefault(os.path.basename(path), []).extend(commands("sh", block))
    return found


def table():
    """Path of commands -> its options."""
    found = {}
    with open(os.path.join(MADE, "options/all.tsv"), encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            found.setdefault(fields[0], set())
            if fields[1] == "o":
                found[fields[0]].update(("--" + fields[3], "-" + fields[2]))
    return found


def unknown_options(line, known):
    """Words with a dash that the program they are given to does not have."""
    path, is_first = None, True
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return
    for word in words:
        if word in ("--", "|", "&&", "||", ";", "&"):
            path, is_first = None, word != "--"
        elif is_first:
            path = word if PROGRAM.match(word) and word in known else None
            is_first = "=" in word
        elif path is None:
            continue
        elif word.startswith("-") and word != "-":
            if word.split("=")[0] not in known[path]:
                yield f"{path} {word}"
        elif f"{path} {word}" in known:
            path = f"{path} {word}"


class DocsTest(unittest.TestCase):
    def test_options_exist(self):
        known, seen = table(), 0
        for page in PAGES:
            with open(page, encoding="utf-8") as file:
                spoken = re.findall(r"(?<!`)`(wakepath[^`\n]*)`(?!`)", file.read())
            lines = [line for info, text in blocks(page) for line in commands(info, text)] + spoken
            for line in lines + [line for line in sum(examples().values(), [])]:
                seen += "wakepath" in line
                self.assertEqual(list(unknown_options(line, known)), [], f"{page}: {line}")
        self.assertGreater(seen, 20)

    def test_every_command_is_executed_or_held(self):
        held = set()
        for page in PAGES:
            self.assertEqual(loose(page), [], f"{page}: put them into a block, ```sh scene")
            for info, text in blocks(page):
                self.assertIn(info.split()[1:2], ([], ["run"], ["run-on"], ["scene"], ["held"]), page)
                self.assertTrue(info == "console" or len(info.split()) > 1, f"{page}: a block of commands that nobody executes:\n{text}")
                self.assertEqual(subprocess.run(["sh", "-n"], input="\n".join(commands(info, text)) if info != "sh run" else text, text=True,
                                                check=False).returncode, 0, text)
                if info.split()[1:] == ["held"]:
                    held.update(commands(info, text))
        self.assertEqual(held, set(HELD), "what is held, and its reason")
        self.assertLessEqual(len(HELD), 28)

    def test_scene(self):
        pages = {os.path.relpath(page, SOURCE): [line for info, text in blocks(page) if info in ("sh scene", "console")
                                                 for line in commands(info, text)] for page in PAGES}
        pages = {page: lines for page, lines in {**pages, **examples()}.items() if lines}
        self.assertGreater(sum(map(len, pages.values())), 40)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(pages, file)
            file.flush()
            done = subprocess.run(["unshare", "--mount", "--net", "--propagation", "private", sys.executable,
                                   os.path.join(os.path.dirname(os.path.abspath(__file__)), "docs_scene.py"), BIN, file.name],
                                  capture_output=True, text=True, check=False)
        print(done.stderr, flush=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        wrong = json.loads(done.stdout)
        self.assertEqual(wrong, {}, "\n".join(f"{page}: {text}" for page, text in wrong.items()))

    def test_an_unknown_option_is_found(self):
        self.assertEqual(list(unknown_options("x=1 wakepath store ls --recursve a | wc -l", table())),
                         ["wakepath store ls --recursve"])

    def test_blocks_run(self):
        executed = 0
        for page in PAGES:
            text = "".join(text for info, text in blocks(page) if info.split()[1:] == ["run"])
            if not text:
                continue
            executed += 1
            folder = tempfile.mkdtemp(prefix="wakepath-docs-", dir="/var/tmp")
            self.addCleanup(shutil.rmtree, folder, True)
            done = subprocess.run(["sh", "-euxc", text], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env={"PATH": BIN + ":" + os.environ["PATH"], "HOME": folder, "LC_ALL": "C"}, timeout=200,
                                  check=False)
            self.assertEqual(done.returncode, 0, f"{page}:\n{done.stdout}\n{done.stderr}")
        self.assertEqual(executed, 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
