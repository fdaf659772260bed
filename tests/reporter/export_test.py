#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every exported format, opened by an independent reader: the same stacks, sums that are the report's total to the
nanosecond, and hostile names that stay names. export_test.py BIN_DIR SAMPLE_TOOL; WP_UPDATE_GOLDEN=1 writes golden files."""
import collections
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import exports

BIN, SAMPLE = sys.argv.pop(1), sys.argv.pop(1)
HERE = os.path.dirname(os.path.abspath(__file__))
CONTROL = [chr(code) for code in range(32)] + ["\x7f"]


def run(*args):
    return subprocess.run(args, capture_output=True, timeout=120, check=False)


def sums(rows):
    """{(stack, category): ns}"""
    found = collections.Counter()
    for stack, category, ns in rows:
        found[stack, category] += ns
    return found


class Stores(unittest.TestCase):
    """Stores of made-up recordings, and what the programs say of them."""
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="wp-exports-")
        for kind in ("plain", "hostile", "service", "source"):
            subprocess.run([SAMPLE, kind, f"{cls.folder}/{kind}"], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def export(self, kind, form, *args):
        done = run(f"{BIN}/wakepath-reporter", "--store", f"{self.folder}/{kind}", "--format", form, *args)
        self.assertEqual((done.returncode, done.stderr), (0, b""), (kind, form))
        return done.stdout

    def query(self, kind, *args):
        done = run(f"{BIN}/wakepath", "query", "--store", f"{self.folder}/{kind}", "--format", "json", "--top", "0", *args)
        self.assertEqual((done.returncode, done.stderr), (0, b""), args)
        return json.loads(done.stdout)["releases"][0]

    def total(self, kind):
        return json.loads(self.export(kind, "json"))["total_ns"]

    def tables(self, kind):
        return exports.read_ndjson(self.export(kind, "ndjson"))

    def stacks(self, kind):
        return [(tuple(row["stack"]), row["category"], row["ns"], row["count"]) for row in self.tables(kind)["stacks"]]


class Exports(Stores):
    def test_stacks_have_an_order_and_limits(self):
        for kind in ("plain", "hostile", "service"):
            cells = self.stacks(kind)
            times = sorted((cell[2] for cell in cells), reverse=True)
            least = times[len(times) // 2]
            for flags, wanted in ((["--top", "3"], times[:3]), (["--at-least", f"{least}ns"], [ns for ns in times if ns >= least]),
                                  (["--at-least", "5%", "--top", "4"], [ns for ns in times if 20 * ns >= self.total(kind)][:4])):
                self.assertEqual([ns for _, ns in exports.read_folded(self.export(kind, "folded", "--order", "ns", *flags))], wanted)
                for form, read in (("folded", exports.read_folded), ("speedscope", lambda data: exports.read_speedscope(data)[0][1])):
                    self.assertEqual(sorted((ns for _, ns in read(self.export(kind, form, *flags))), reverse=True), wanted, (kind, form, flags))
                for form in ("perun", "perun-whole"):
                    snapshots = json.loads(self.export(kind, form, *flags))["snapshots"]
                    self.assertEqual(sum(row["amount"] for one in snapshots for row in one["resources"]), sum(wanted), (kind, form, flags))
                self.assertLess(len(self.export(kind, "pprof", *flags)), len(self.export(kind, "pprof")))
            counts = sorted((cell[3] for cell in cells), reverse=True)
            top = exports.read_folded(self.export(kind, "folded", "--order", "count", "--top", "1"))
            self.assertIn(top[0][1], [cell[2] for cell in cells if cell[3] == counts[0]])
        for flags in (["--order", "weight"], ["--at-least", "5"], ["--order", "count", "--at-least", "5ms"]):
            done = run(f"{BIN}/wakepath-reporter", "--store", f"{self.folder}/plain", "--format", "folded", *flags)
            self.assertEqual((done.returncode, done.stdout), (64, b""), flags)

    def test_golden_files(self):
        for form in ("speedscope", "perfetto", "perun", "csv", "ndjson"):
            data, path = self.export("plain", form), f"{HERE}/golden/sample.{form}"
            if os.environ.get("WP_UPDATE_GOLDEN"):
                with open(path, "wb") as file:
                    file.write(data)
            with open(path, "rb") as file:
                wanted = file.read()
            at = next((i for i, pair in enumerate(zip(data, wanted)) if pair[0] != pair[1]), min(len(data), len(wanted)))
            self.assertTrue(data == wanted, f"{form} at byte {at}: {data[at - 40:at + 40]} for {wanted[at - 40:at + 40]}")

    def test_all_formats_hold_the_same_stacks(self):
        for kind in ("plain", "service"):
            rows = self.stacks(kind)
            wanted, total = sums(row[:3] for row in rows), self.total(kind)
            self.assertEqual(sum(wanted.values()), total)
            pprof, objects = exports.read_pprof(self.export(kind, "pprof"))
            self.assertEqual(sorted(pprof), sorted((row[0], row[1], row[3], row[2]) for row in rows))
            self.assertIn("[kernel]" if kind == "plain" else "postgres", objects.values())
            _, perun = exports.read_perun(self.export(kind, "perun"))
            self.assertEqual(sums(row[1:4] for row in perun), wanted)
            no_category = sums((row[0], "", row[2]) for row in rows)
            flame = exports.read_speedscope(self.export(kind, "speedscope"))[0][1]
            self.assertEqual(sums((stack, "", ns) for stack, ns in flame), no_category)
            self.assertEqual(sums((stack, "", ns) for stack, ns in exports.read_folded(self.export(kind, "folded"))), no_category)

    def test_go_tool_pprof_reads_them_too(self):
        for kind in ("plain", "hostile", "service"):
            path = f"{self.folder}/{kind}.pb.gz"
            self.export(kind, "pprof", "--out", path)
            done = subprocess.run(["go", "tool", "pprof", "-raw", path], capture_output=True, text=True, timeout=300, check=False,
                                  env={**os.environ, "PPROF_TMPDIR": self.folder, "GOFLAGS": "", "GOTOOLCHAIN": "local"})
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, "rb") as file:
                wanted = exports.read_pprof(file.read())[0]
            said = exports.read_pprof_raw(done.stdout)
            self.assertEqual([row[1:] for row in said], [row[1:] for row in wanted], kind)
            for (stack, *_), (names, *_) in zip(said, wanted):
                self.assertEqual(len(stack), len(names))
                self.assertTrue(all(text.startswith(name + " ") for text, name in zip(stack, names)), (kind, stack, names))

    def test_sums_of_hostile_names_are_exact_too(self):
        total = self.total("hostile")
        self.assertEqual(sum(row[2] for row in self.stacks("hostile")), total)
        self.assertEqual(sum(row[3] for row in exports.read_pprof(self.export("hostile", "pprof"))[0]), total)
        self.assertEqual(sum(row[3] for row in exports.read_perun(self.export("hostile", "perun"))[1]), total)
        self.assertEqual(sum(ns for _, ns in exports.read_speedscope(self.export("hostile", "speedscope"))[0][1]), total)
        self.assertEqual(sum(ns for _, ns in exports.read_folded(self.export("hostile", "folded"))), total)
        rows = exports.read_csv(self.export("hostile", "csv", "--table", "stacks"))
        self.assertEqual(sum(int(row["ns"]) for row in rows), total)

    def test_names_are_kept_or_made_visible(self):
        names = {name for row in self.stacks("hostile") for name in row[0]}
        for name in ("<script>alert(1)</script>", "line\nbreak;semi", "\x1b[2J\x1b]0;title\x07", "../../../../etc/passwd",
                     "\ufffd\ufffd\ufffd bad utf-8 \ufffd", "\"onmouseover=\"alert(1)", "?"):
            self.assertIn(name, names)
        self.assertIn(10239, map(len, names))
        frames = {name for stack, _ in exports.read_speedscope(self.export("hostile", "speedscope"))[0][1] for name in stack}
        self.assertEqual(frames, names)
        shown = {name for row in exports.read_pprof(self.export("hostile", "pprof"))[0] for name in row[0]}
        self.assertIn("line\u240abreak;semi", shown)
        self.assertFalse([name for name in shown if any(char in name for char in CONTROL)])
        slices, _, names = exports.read_perfetto(self.export("hostile", "perfetto"))
        self.assertEqual(len(names), 21)
        self.assertTrue(any(row[3] == "\x1b[2J\x1b]0;title\x07" for rows in slices.values() for row in rows))

    def test_csv_gives_a_spreadsheet_no_formula(self):
        for table in ("processes", "functions", "waits", "unexplained", "stacks", "report", "categories", "edges"):
            data = self.export("hostile", "csv", "--table", table)
            for row in exports.read_csv(data):
                for value in row.values():
                    self.assertFalse(value[:1] in "=+-@" and value[:1], (table, value[:40]))
                    self.assertFalse(any(char in value for char in CONTROL), (table, value[:40]))

    def test_csv_says_what_ndjson_says(self):
        for kind in ("plain", "service"):
            tables = self.tables(kind)
            wide = exports.read_csv(self.export(kind, "csv"))
            for name, rows in tables.items():
                alone = exports.read_csv(self.export(kind, "csv", "--table", name))
                flat = [{key: ";".join(value) if isinstance(value, list) else str(value) for key, value in row.items()}
                        for row in rows]
                self.assertEqual(alone, flat, name)
                self.assertEqual([{key: row[key] for key in flat[0]} for row in wide if row["table"] == name], flat)
                self.assertEqual(exports.read_ndjson(self.export(kind, "ndjson", "--table", name)), {name: rows})

    def test_tables_add_up(self):
        for kind in ("plain", "hostile", "service"):
            tables, total = self.tables(kind), self.total(kind)
            self.assertEqual([row["total_ns"] for row in tables["report"]], [total])
            self.assertEqual(sum(row["ns"] for row in tables["categories"]), total)
        by_pair = {(row["waiter"], row["waits_for"]): row["ns"] for row in self.tables("plain")["waits"]}
        self.assertEqual(by_pair["[cc1]", "io:read vda"], 716000000)
        self.assertEqual(by_pair["[sh]", "[cc1]"], 2340000000)
        self.assertEqual(by_pair["[make]", "[sh]"], sum(ns for stack, _, ns, _ in self.stacks("plain") if "[sh]" in stack))
        self.assertEqual(by_pair["[curl]", "[nginx]"], 166000000)
        unexplained = self.tables("plain")["unexplained"]
        self.assertEqual([(row["stack"][-1], row["ns"]) for row in unexplained],
                         [("sleep:futex", 44000000), ("sleep:recvmsg", 21000000)])

    def test_perun_has_snapshots_over_time(self):
        root, rows = exports.read_perun(self.export("service", "perun"))
        self.assertGreater(len(root["snapshots"]), 10)
        self.assertTrue(root["chunks"])
        self.assertEqual(root["origin"], "v1")
        self.assertGreater(float(rows[-1][0]), 800)
        self.assertEqual(exports.read_perun(self.export("plain", "perun"))[0]["chunks"], {})

    def test_categories_side_by_side(self):
        """The figures of the summary, and what is explained of it at the last step."""
        for kind in ("plain", "service"):
            store = ("--store", f"{self.folder}/{kind}")
            summary = json.loads(self.export(kind, "json"))
            rows = exports.read_csv(run(f"{BIN}/wakepath", "query", *store, "--aggregate", summary["aggregate"], "--format", "categories").stdout)
            own = [row for row in rows if row["task"] == summary["release"]]
            self.assertEqual({row["category"]: int(row["ns"]) for row in own}, summary["categories"])
            steps = [float(row["explained_percent"]) for row in own if row["explained_percent"]]
            known = summary["total_ns"] - summary["categories"]["other_path"]
            self.assertAlmostEqual(steps[-1], 100 * (known - summary["categories"]["unaccounted"]) / known, places=3)
            self.assertEqual(steps, sorted(steps))
            page = run(f"{BIN}/wakepath", "query", *store, "--aggregate", summary["aggregate"], "--format", "page").stdout.decode()
            self.assertEqual(page.count('<path class="line task t-'), 2 * len({row["task"] for row in rows}))
            self.assertNotIn("<script", page)
            for words in (["--by", "function"], ["--process", "x"], ["--detached"]):
                self.assertEqual(run(f"{BIN}/wakepath", "query", *store, "--format", "page", *words).returncode, 64, words)

    def test_perun_has_models(self):
        """Each curve against the amounts that it is of: a constant is their mean, and no curve is worse than that."""
        snapshots = exports.read_perun(self.export("service", "perun"))[0]["snapshots"]
        times = [float(snapshot["time"]) for snapshot in snapshots]
        length = min(after - before for before, after in zip(times, times[1:]))
        models = snapshots[-1]["models"]
        self.assertGreater(len(models), 3)
        for model in models:
            key = (model["uid"]["source"], model["uid"]["function"])
            inside = [snapshot for snapshot, time in zip(snapshots, times)
                      if model["x_interval_start"] - length < time < model["x_interval_end"]]
            sums = [sum(resource["amount"] for resource in snapshot["resources"]
                        if (resource["uid"]["source"], resource["uid"]["function"]) == key) for snapshot in inside]
            self.assertTrue(-0.01 <= model["r_square"] <= 1)
            if model["model"] == "constant":
                self.assertAlmostEqual(model["coeffs"][0]["value"] / (sum(sums) / len(sums)), 1, places=3)

    def test_perun_has_lines(self):
        """Of a function that calls the line of the call, of the innermost one the line of most time of its own."""
        root, _ = exports.read_perun(self.export("source", "perun-whole"))
        traces = [[(frame["function"], frame["line"]) for frame in resource["trace"]] for snapshot in root["snapshots"]
                  for resource in snapshot["resources"]]
        self.assertEqual({line for trace in traces for function, line in trace if function == "main"}, {47, 48, 49})
        self.assertEqual({trace[0] for trace in traces if trace[0][0] == "settle"}, {("settle", 13)})
        self.assertIn([("io:vda write", 0), ("sleep:fsync", 0), ("fsync", 27), ("book", 23), ("main", 49), ("__libc_start_main", 360),
                       ("[till]", 0)], traces)

    def test_perun_whole_is_the_same_without_chunks(self):
        """Perun's own programs do not look into chunks."""
        for kind in ("plain", "hostile", "service"):
            (root, rows), (whole, same) = (exports.read_perun(self.export(kind, form)) for form in ("perun", "perun-whole"))
            self.assertEqual(rows, same)
            self.assertEqual(whole["chunks"], {})
            self.assertTrue(all(isinstance(one["trace"], list) for snapshot in whole["snapshots"] for one in snapshot["resources"]))
            self.assertEqual({key: root[key] for key in ("origin", "header", "collector_info", "machine")},
                             {key: whole[key] for key in ("origin", "header", "collector_info", "machine")})
            self.assertTrue(root["machine"]["host"])  # Perun's comparison of two profiles fails without
        self.assertTrue(root["chunks"])

    def test_perfetto_leaves_out_links_that_hang_on_nothing(self):
        """The made-up writer's thread is not in the window; viewers count such arrows as errors of the file."""
        data = json.loads(self.export("plain", "perfetto"))
        self.assertEqual(data["otherData"]["loose_links"], "5")
        _, flows, _ = exports.read_perfetto(self.export("plain", "perfetto"))
        self.assertEqual(len(flows), 65)

    def test_perfetto_has_the_window(self):
        slices, flows, names = exports.read_perfetto(self.export("plain", "perfetto"))
        self.assertEqual(sorted(names.values()), ["cc1 4103", "kworker/0:1 88", "make 4100", "sh 4101"])
        kinds = collections.Counter(row[2] for rows in slices.values() for row in rows)
        self.assertEqual(kinds["sleep"], 8 * (12 + 2))
        self.assertEqual(collections.Counter(flow[0] for flow in flows)["fork"], 16)
        for kind, source, at, _, to, _ in flows:
            self.assertLessEqual(at, to)
            if kind == "fork": # the parent was running until then
                self.assertTrue(any(row[0] <= at < row[1] and row[2] == "run" for row in slices[source]), at)

    def test_perfetto_has_an_exemplar(self):
        slices, _, names = exports.read_perfetto(self.export("plain", "perfetto", "--exemplar", "2"))
        self.assertEqual(sorted(names.values()), ["cc1 4103", "kworker/0:1 88", "make 4100", "sh 4101"])
        self.assertTrue(any(slices.values()))
        for number, status in (("11", 1), ("0", 64), ("x", 64)):
            done = run(f"{BIN}/wakepath-reporter", "--store", f"{self.folder}/plain", "--format", "perfetto", "--exemplar", number)
            self.assertEqual((done.returncode, done.stdout), (status, b""), number)
        self.assertIn(b"main has 10 exemplars, not 11", run(f"{BIN}/wakepath-reporter", "--store", f"{self.folder}/plain", "--format", "perfetto",
                                                            "--exemplar", "11").stderr)

    def test_perfetto_without_a_window_is_refused(self):
        done = run(f"{BIN}/wakepath-reporter", "--store", f"{self.folder}/service", "--format", "perfetto")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"no window of main was kept", done.stderr)

    def test_out_is_standard_output_and_stable(self):
        for form in ("json", "text", "folded", "pprof", "speedscope", "perfetto", "perun", "csv", "ndjson"):
            path = f"{self.folder}/out.{form}"
            self.assertEqual(self.export("plain", form, "--out", path), b"")
            with open(path, "rb") as file:
                self.assertEqual(file.read(), self.export("plain", form), form)
        done = run(f"{BIN}/wakepath-reporter", "--store", f"{self.folder}/plain", "--format", "folded", "--out", self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.export("plain", "folded", "--out", "/dev/stdout"), self.export("plain", "folded"))
        self.assertFalse(os.path.isfile("/dev/stdout"))

    def test_usage(self):
        store = ["--store", f"{self.folder}/plain"]
        for args in (["--format", "csv", "--table", "nothing"], ["--format", "json", "--table", "stacks"],
                     ["--single-file", "--format", "csv"], ["--out", "x", "--table", "stacks"]):
            self.assertEqual(run(f"{BIN}/wakepath-reporter", *store, *args).returncode, 64, args)
        for args in (["--by", "weather"], ["--top", "-1"], ["--top", "x"], ["--category", "x"], ["--format", "pdf"], ["x"],
                     ["--since", "never"], ["--since", "2027"], ["--since", "2026-11-20", "--until", "2026-11-19"], ["--release", "../x"]):
            self.assertEqual(run(f"{BIN}/wakepath", "query", *store, *args).returncode, 64, args)
        self.assertEqual(run(f"{BIN}/wakepath", "query").returncode, 64)

    def test_digest_fits_a_mail(self):
        for kind in ("plain", "service"):
            lines = self.export(kind, "text").decode().split("\n")
            self.assertLessEqual(max(map(len, lines)), 78)


def layers(stack):
    """(process, host, functions) of each layer; a process frame is "[comm]" or "[comm]@host"."""
    found = [["", "", []]]
    for name in stack:
        if name.startswith("["):
            comm, _, host = name.rpartition("]")
            found.append([comm[1:], host[1:] or "builder", []])
        elif ":" not in name.split("::")[0] or "::" in name:
            found[-1][2].append(name)
    return found


class Queries(Stores):
    """The answers against the stacks, put together here."""
    def matching(self, process="*", function="*", host="*", category=None):
        for stack, kind, ns, count in self.stacks("plain"):
            if any(fnmatch.fnmatchcase(layer[0], process) and fnmatch.fnmatchcase(layer[1], host) and
                   (function == "*" or any(fnmatch.fnmatchcase(name, function) for name in layer[2]))
                   for layer in layers(stack)) and category in (None, kind):
                yield stack, kind, ns, count

    def check(self, want, got, by):
        self.assertEqual({row[by]: (row["ns"], row["count"]) for row in got["rows"]},
                         {key: tuple(value) for key, value in want.items()}, by)
        self.assertEqual(sum(row["ns"] for row in got["rows"]), got["matched_ns"])
        self.assertEqual(got["total_ns"], self.total("plain"))

    def test_every_filter_with_every_group(self):
        tops = {"process": lambda stack, kind: layers(stack)[-1][0], "host": lambda stack, kind: layers(stack)[-1][1],
                "category": lambda stack, kind: kind,
                "path": lambda stack, kind: " › ".join(name for i, name in enumerate(stack) if name.startswith("[") or (
                    i + 1 == len(stack) and name.split(":")[0] in ("sleep", "io", "tcp", "sched", "timer", "path", "irq")))}
        for filters in ({}, {"process": "cc1"}, {"process": "c*"}, {"function": "main"}, {"process": "sh", "function": "waitproc"},
                        {"category": "blocking_io"}, {"host": "builder"}, {"host": "elsewhere"}, {"function": "nowhere"},
                        {"process": "sh", "function": "toplev::main"}, {"process": "make", "category": "scheduler"}):
            args = [word for key, value in filters.items() for word in ("--" + key, value)]
            for by, top in tops.items():
                want = collections.defaultdict(lambda: [0, 0])
                for stack, kind, ns, count in self.matching(**filters):
                    want[top(stack, kind)][0] += ns
                    want[top(stack, kind)][1] += count
                got = self.query("plain", "--allow-empty", "--by", by, *args)
                got["rows"] = [row for row in got["rows"] if row["count"]] # the others only stood below
                self.check(want, got, by)

    def test_inclusive_counts_a_stack_once(self):
        got = {(row["function"], row["object"]): row for row in self.query("plain", "--by", "function")["rows"]}
        for row in self.tables("plain")["functions"]:
            found = got[row["function"], row["object"]]
            self.assertEqual(found["inclusive_ns"], row["inclusive_ns"], row)
        self.assertEqual(sum(row["ns"] for row in got.values()), self.total("plain"))
        got = {row["process"]: row["inclusive_ns"] for row in self.query("plain", "--by", "process")["rows"]}
        for name, ns in got.items():
            self.assertEqual(ns, sum(row[2] for row in self.stacks("plain") if f"[{name}]" in row[0]), name)

    def test_top_and_the_rest(self):
        got = self.query("plain", "--by", "function", "--top", "3")
        self.assertEqual((len(got["rows"]), got["rows"][0]["function"]), (3, "_cpp_read_file"))
        whole = self.query("plain", "--by", "function")
        self.assertEqual(got["left_out"], len(whole["rows"]) - 3)
        self.assertEqual(got["rows"], whole["rows"][:3])

    def test_several_stores_and_releases(self):
        store, other = self.folder + "/many", self.folder + "/more"
        for args in (("plain", store, "v1"), ("service", store, "v2"), ("service", other, "v3"), ("hostile", other, "v1", "odd")):
            subprocess.run([SAMPLE, *args], check=True)

        def releases(*args):
            done = run(f"{BIN}/wakepath", "query", "--store", store, "--store", other, "--format", "json", *args)
            return [row["release"] for row in json.loads(done.stdout)["releases"]] if not done.returncode else done.stderr
        self.assertEqual(releases(), ["v1", "v2", "v3"])
        self.assertEqual(releases("--release", "v3", "--release", "v1"), ["v1", "v3"])
        self.assertEqual(releases("--aggregate", "odd"), ["v1"])
        self.assertIn(b"v9", releases("--release", "v9"))
        self.assertIn(b"odd", releases("--release", "v2", "--aggregate", "odd"))
        self.assertIn(b"that time", releases("--until", "1970-01-02"))
        done = run(f"{BIN}/wakepath", "query", "--store", store, "--format", "csv", "--by", "category", "--top", "0")
        rows = exports.read_csv(done.stdout)
        self.assertEqual(sum(int(row["ns"]) for row in rows if row["release"] == "v1"), self.total("plain"))

    def findings_of_a_comparison(self, store, sentence):
        """`check` and the overview know of one release before."""
        def check(old, new, form):
            return run(f"{BIN}/wakepath-reporter", "check", "--store", store, "--format", form, old, new).stdout.decode()
        def joined(text):
            return " ".join(text.split())
        self.assertIn(f"{sentence} New in this release.", joined(check("v1", "v3", "text")))
        self.assertIn(f"{sentence} Since release v2 or before.", joined(check("v2", "v3", "text")))
        self.assertIn("Since release v2 or before.", check("v2", "v3", "junit"))
        self.assertIn("v2", {row.get("since") for row in json.loads(check("v2", "v3", "json"))["explanations"]})
        self.assertNotIn("Since release", check("v3", "v3", "text"))
        site = f"{store}-site"
        self.assertEqual(run(f"{BIN}/wakepath-reporter", "--quiet", "--store", store, "--out", site).returncode, 0)
        with open(f"{site}/v3/main/index.html", encoding="utf-8") as page:
            self.assertIn("Since release v2 or before.", page.read())
        with open(f"{site}/v2/main/index.html", encoding="utf-8") as page:
            self.assertIn("New in this release.", page.read())
        for release in ("v2", "v3"):
            with open(f"{site}/{release}/main/summary.json", encoding="utf-8") as file:
                self.assertIn("v2", {row.get("since") for row in json.load(file)["explanations"]}, release)

    def test_work_that_nobody_waited_for(self):
        rows = {row["process"]: (row["ns"], row["inclusive_ns"]) for row in self.query("plain", "--detached")["rows"]}
        self.assertEqual(rows["logger"], (13_000_000, 13_000_000))
        self.assertEqual(rows["make"], (0, 13_000_000))  # who started it
        self.assertEqual(self.query("plain", "--detached", "--process", "sh")["matched_ns"], 2_000_000)
        self.assertEqual(self.query("service", "--detached")["total_ns"], 0)

    def test_findings_say_since_when(self):
        store = self.folder + "/since"
        for release, kind in (("v1", "plain"), ("v2", "service"), ("v3", "service-slower")):
            subprocess.run([SAMPLE, kind, store, release], check=True)

        def findings(*args):
            done = run(f"{BIN}/wakepath", "query", "--store", store, "--findings", *args)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout
        said = {row["release"]: row["findings"] for row in json.loads(findings("--format", "json"))["releases"]}
        summary = json.loads(run(f"{BIN}/wakepath-reporter", "--store", store, "--release", "v2", "--format", "json").stdout)
        self.assertEqual([row["sentence"] for row in said["v2"]][:5], [row["sentence"] for row in summary["explanations"]])
        def since(release, is_large):
            return {row.get("since") for row in said[release] if "/main/flame.html#node=" in row["page"] and (row["percent"] >= 1) == is_large}
        self.assertEqual([since(release, True) for release in ("v1", "v2", "v3")], [{None}, {"v2"}, {"v2"}])
        self.assertEqual(since("v2", False), {None})  # an older release may have it, too small to be told
        text = findings("--release", "v3", "--top", "1").decode()
        self.assertIn("Since release v2", text.replace("\n   ", " "))
        self.assertNotIn("2. ", text)
        rows = exports.read_csv(findings("--format", "csv", "--top", "2"))
        self.assertEqual([(row["release"], row["since"]) for row in rows[:2]], [("v3", "v2")] * 2)
        self.findings_of_a_comparison(store, next(row["sentence"] for row in said["v3"] if row.get("since")))
        for args in (("--release", "v9"), ("--aggregate", "odd"), ("--release", "v3", "--release", "v9"),
                     ("--release", "v3", "--release", "v4")):
            if "v4" in args:  # named, and it cannot be read
                subprocess.run([SAMPLE, "plain", store, "v4"], check=True)
                with open(f"{store}/v4/data.mdb", "r+b") as file:
                    file.write(b"\xff" * 8192)
            done = run(f"{BIN}/wakepath", "query", "--store", store, "--findings", *args)
            self.assertEqual((done.returncode, done.stdout), (1, b""), args)
            self.assertIn(args[-1].encode() if "--release" in args else b"no release", done.stderr)
        done = run(f"{BIN}/wakepath", "query", "--store", store, "--findings")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"Since release v2", done.stdout.replace(b"\n   ", b" "))
        self.assertIn(b"are not in the answer: 1", done.stderr)
        self.assertEqual(run(f"{BIN}/wakepath", "query", "--store", store, "--findings", "--process", "x").returncode, 64)
        done = run(f"{BIN}/wakepath", "query", "--store", f"{self.folder}/hostile", "--findings")
        self.assertNotIn(b"\x1b", done.stdout)

    def test_a_filter_that_nothing_fits_is_no_success(self):
        ask = (f"{BIN}/wakepath", "query", "--store", f"{self.folder}/plain", "--process", "nosuch", "--category", "blocking_io")
        for form in ("table", "json", "csv"):
            done = run(*ask, "--format", form)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (1, b"", 1), done.stderr)
            self.assertIn(b"nothing that was recorded fits --process 'nosuch' --category blocking_io", done.stderr)
        done = run(*ask, "--allow-empty")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for form in ("json", "text", "folded", "csv"):
            for choice, said in (("--hosts=nosuch", b"of hosts nosuch\n"), ("--until=2001-01-01", b"(in|of) that time\n")):
                done = run(f"{BIN}/wakepath-reporter", "--store", f"{self.folder}/plain", "--aggregate", "main", "--format", form, choice)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (1, b"", 1), done.stderr)
                self.assertRegex(done.stderr, said + b"$")

    def test_whole_reports_have_no_order_and_no_limits(self):
        for form in ("json", "text", "perfetto"):
            for words in (("--order", "ns"), ("--at-least", "1%"), ("--top", "3")):
                done = run(f"{BIN}/wakepath-reporter", "--store", f"{self.folder}/plain", "--format", form, *words)
                self.assertEqual((done.returncode, done.stdout), (64, b""))
                self.assertIn(words[0].encode() + b" is of --format csv", done.stderr)

    def test_times_choose_timeboxes(self):
        store = self.folder + "/times"
        for box in ("1790000000", "1790003600"):
            subprocess.run([SAMPLE, "plain", store, "v1", "main", box], check=True)

        def total(*args):
            done = run(f"{BIN}/wakepath", "query", "--store", store, "--format", "json", *args)
            return json.loads(done.stdout)["releases"][0]["matched_ns"]
        once = self.total("plain")
        self.assertEqual((total(), total("--since", "1790003600"), total("--until", "1790003000")), (2 * once, once, once))

    def test_tables_are_for_people(self):
        done = run(f"{BIN}/wakepath", "query", "--store", f"{self.folder}/plain", "--by", "path", "--top", "4")
        text = done.stdout.decode()
        self.assertIn("[make] › [sh] › [cc1] › io:read vda", text)
        self.assertRegex(text, r"and \d+ more")
        self.assertLessEqual(max(map(len, text.split("\n"))), 78)
        done = run(f"{BIN}/wakepath", "query", "--store", f"{self.folder}/hostile", "--by", "function", "--top", "0")
        self.assertNotIn(b"\x1b", done.stdout)

    def test_hostile_names_are_found_by_themselves(self):
        for row in self.query("hostile", "--by", "function")["rows"]:
            if not row["function"] or "\ufffd" in row["function"]:
                continue
            found = self.query("hostile", "--by", "function", "--function", row["function"])
            self.assertIn(row["function"], [one["function"] for one in found["rows"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
