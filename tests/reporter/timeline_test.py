#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Timeline of a whole system, as a reader uses it: 2,000 threads and a million runs and sleeps, rows of processors and of what
happened beside the threads, kinds of links, the way to a link's other end, groups, search, the flame of an interval.
timeline_test.py BIN_DIR SAMPLE_TOOL TIMELINE_TOOL"""
import os
import subprocess
import sys
import tempfile
import unittest

from browser import Browser

BIN, SAMPLE, TIMELINE = sys.argv[1:4]
VIEW = "window.wakepath.running"
BOX = "(function () { var r = document.querySelector('.stage canvas').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()"


class Timeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="wp-timeline-test-")
        store = cls.folder.name + "/store"
        subprocess.run([SAMPLE, "plain", store], check=True)
        cls.sites = {}
        for name, threads, slices in (("many", 2000, 1000000), ("few", 40, 4000)):
            file, out = f"{cls.folder.name}/{name}.system", f"{cls.folder.name}/{name}"
            subprocess.run([TIMELINE, file, str(threads), str(slices)], check=True)
            subprocess.run([f"{BIN}/wakepath-reporter", "--store", store, "--out", out, "--quiet", "--system-window", file], check=True)
            cls.sites[name] = "file://" + out + "/v1/main/"
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def open(self, site, page="running.html"):
        ready = self.browser.open(self.sites[site] + page)
        self.assertEqual(self.browser.faults(), [])
        self.assertTrue(ready)
        return ready

    def test_all_rows_of_a_large_system_are_drawn(self):
        """Every thread has a row, every processor, device and connection; what is in sight is looked at in blocks, not one by one."""
        browser = self.browser
        self.open("many")
        self.assertLessEqual(os.path.getsize(self.sites["many"][7:] + "../system-data.js"), 24 << 20)
        found = browser.evaluate(f"""(function () {{
          var view = {VIEW}, looked = 0, most = 0, depths = 0, height = view.surface.height, drawn = new Set(), each = wakepath.spans.each, calls = 0, busiest = 0;
          ['fillRect', 'stroke', 'fillText', 'drawImage'].forEach(function (name) {{
            var own = CanvasRenderingContext2D.prototype[name];
            CanvasRenderingContext2D.prototype[name] = function () {{ calls++; return own.apply(this, arguments); }};
          }});
          wakepath.spans.each = function () {{ var n = each.apply(this, arguments); looked += n; return n; }};
          for (var top = 0; top < view.total; top += height) {{
            looked = calls = 0;
            view.surface.stage.scrollTop = top;
            view.surface.paintNow();
            most = Math.max(most, looked);
            busiest = Math.max(busiest, calls);
            view.visible.forEach(function (row) {{ if (row.thread >= 0) drawn.add(row.thread); }});
          }}
          wakepath.spans.each = each;
          wakepath.spans.eachDepth(view.busy, view.axis, function () {{ depths++; }});
          return {{threads: drawn.size, depths: depths, cpus: view.rows.filter(function (r) {{ return r.cpu !== undefined; }}).length, most: most,
            places: view.rows.filter(function (r) {{ return r.op; }}).length, slices: view.data.run_start.length + view.data.sleep_start.length,
            busiest: busiest}}; }})()""")
        print(f"{found['slices']} runs and sleeps, {found['threads']} threads: {found['busiest']} calls of the canvas a frame, "
              f"{found['most']} intervals looked at", file=sys.stderr)
        self.assertEqual((found["threads"], found["cpus"], found["places"]), (2000, 8, 8))
        self.assertEqual(found["slices"], 1000000)
        self.assertLess(found["most"], 200000)
        self.assertLess(found["busiest"], 1500, "rows are composed, not drawn a rectangle at a time")
        self.assertLess(found["depths"], 3000, "how many ran at once is painted once a pixel")
        self.assertEqual(browser.faults(), [])

    def test_a_moving_view_draws_fewer_links_and_all_at_rest(self):
        """The address, too, follows when the view stands still."""
        browser = self.browser
        self.open("many")
        self.assertTrue(browser.wait(f"{VIEW}.links.drawn.length > 1000"))
        moving = browser.evaluate(f"""(function () {{ var view = {VIEW};
          view.surface.stage.scrollTop = 1000;
          view.surface.paintNow();
          return view.links.drawn.filter(function (line) {{ return !line.own; }}).length; }})()""")
        self.assertLessEqual(moving, 400)
        self.assertGreater(moving, 100)
        self.assertTrue(browser.wait(f"{VIEW}.links.drawn.length > 1000"))
        browser.evaluate(f"for (var i = 0; i < 5; i++) {VIEW}.axis.zoom(600, 1.5)")
        self.assertTrue(browser.wait(f"location.hash.indexOf('to=' + Math.round({VIEW}.axis.to - {VIEW}.shift)) > 0"))
        self.assertEqual(browser.faults(), [])

    def test_a_click_on_a_link_goes_to_its_other_end(self):
        browser = self.browser
        self.open("few")
        browser.evaluate(f"{VIEW}.surface.stage.scrollTop = 0; {VIEW}.axis.show(1e9, 1.2e9); {VIEW}.surface.paintNow();")
        # One that has a place to itself, away from its middle, so that it is plain which end is the farther one.
        place = browser.evaluate(f"""(function () {{
          var view = {VIEW}, links = view.links, box = document.querySelector('.stage canvas').getBoundingClientRect();
          for (var i = 0; i < links.drawn.length; i++) {{
            var line = links.drawn[i], x = line.x0 + (line.x1 - line.x0) * 0.2, y = line.y0 + (line.y1 - line.y0) * 0.2;
            if (line.own || x < 220 || y < 40 || y > view.surface.height - 10 || links.at(x, y) !== line) continue;
            return {{x: x + box.left, y: y + box.top, to: links.to[line.place], time: links.end[line.place]}};
          }} }})()""")
        self.assertTrue(place)
        browser.mouse("mouseMoved", place["x"], place["y"])
        self.assertIn("Click goes to its other end", browser.evaluate("document.querySelector('.tip').textContent"))
        browser.click(place["x"], place["y"])
        self.assertEqual(browser.evaluate(f"[{VIEW}.marked.thread, {VIEW}.marked.time]"), [place["to"], place["time"]])
        inside = browser.evaluate(f"""(function () {{ var view = {VIEW}, row = view.rowOf[view.marked.thread], top = view.surface.stage.scrollTop;
          return row.top >= top && row.top + row.height <= top + view.surface.height && view.marked.time >= view.axis.from && view.marked.time <= view.axis.to; }})()""")
        self.assertTrue(inside)
        self.assertEqual(browser.faults(), [])

    def test_an_interval_is_marked_by_hand_and_opens_its_flame(self):
        """A drag on the axis; the link below leads to the flame of what the marked time has of the aggregate."""
        browser = self.browser
        self.open("few", "running.html#from=0&to=4000000")
        box = browser.evaluate(BOX)
        left, right, y = box[0] + 400, box[0] + 800, box[1] + 6
        browser.mouse("mouseMoved", left, y)
        browser.mouse("mousePressed", left, y, button="left", buttons=1, clickCount=1)
        browser.mouse("mouseMoved", right, y, button="left", buttons=1)
        browser.mouse("mouseReleased", right, y, button="left", clickCount=1)
        marked = browser.evaluate(f"[{VIEW}.brush.range, {VIEW}.axis.time(400), {VIEW}.axis.time(800)]")
        self.assertEqual(marked[0], [round(marked[1]), round(marked[2])])
        self.assertEqual(browser.evaluate("document.querySelector('.brushed').hidden"), False)
        link = browser.evaluate("(function () { var a = document.querySelector('.brushed a'); a.scrollIntoView({block: 'center'});"
                                " var r = a.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()")
        browser.click(*link)
        self.assertTrue(browser.wait("location.pathname.endsWith('flame.html') && window.wakepath && wakepath.flame && wakepath.flame.times.stretch"))
        self.assertEqual(browser.evaluate("wakepath.flame.times.stretch.text"), "-".join(str(time - 1000000000) for time in marked[0]))
        self.assertEqual(browser.faults(), [])

    def test_a_row_under_the_pointer_stands_out(self):
        browser = self.browser
        self.open("few", "running.html#from=0&to=4000000")
        box, row = browser.evaluate(BOX), browser.evaluate(f"(function () {{ var row = {VIEW}.rowOf[0]; return [row.top, row.title]; }})()")
        browser.mouse("mouseMoved", box[0] + 20, box[1] + row[0] + 11)
        self.assertTrue(browser.wait(f"{VIEW}.hoveredRow === {VIEW}.rowOf[0]"))
        self.assertTrue(browser.wait("document.querySelector('.tip') && !document.querySelector('.tip').hidden"))
        browser.mouse("mouseMoved", 5, 5)
        self.assertTrue(browser.wait(f"!{VIEW}.hoveredRow && document.querySelector('.tip').hidden"))
        self.assertEqual(browser.faults(), [])

    def test_kinds_of_links_are_switched(self):
        browser = self.browser
        self.open("few")
        kinds = browser.evaluate("Array.from(document.querySelectorAll('.link-kinds button')).map(function (b) { return b.textContent; })")
        self.assertEqual(kinds, ["waking", "fork", "exec", "message", "completion", "preemption", "timer", "interrupt"])
        browser.evaluate(f"{VIEW}.axis.show(1e9, 1.1e9); document.querySelectorAll('.link-kinds button')[0].click(); {VIEW}.surface.paintNow()")
        drawn = browser.evaluate(f"Array.from(new Set({VIEW}.links.drawn.map(function (l) {{ return l.kind; }})))")
        self.assertNotIn(1, drawn)
        self.assertTrue(set(drawn) & {5, 6, 7, 8}, "links within a row")
        address = browser.evaluate("location.href")
        self.assertIn("unlinked=waking", address)
        browser.open(address)
        self.assertEqual(browser.evaluate("document.querySelectorAll('.link-kinds button')[0].getAttribute('aria-pressed')"), "false")
        self.assertEqual(browser.faults(), [])

    def test_groups_fold_and_threads_are_found(self):
        browser = self.browser
        self.open("few")
        threads = f"{VIEW}.rows.filter(function (r) {{ return r.thread >= 0; }}).length"
        self.assertEqual(browser.evaluate(threads), 40)
        group = browser.evaluate(f"(function () {{ var row = {VIEW}.rows.find(function (r) {{ return /^group/.test(r.fold); }}); return [row.title, row.top]; }})()")
        self.assertRegex(group[0], r"^system\.slice/service-\d+\.service$")
        box = browser.evaluate(BOX)
        browser.click(box[0] + 40, box[1] + group[1] + 12)
        self.assertLess(browser.evaluate(threads), 40)
        browser.evaluate(f"{VIEW}.search('service-3.')")
        self.assertEqual(browser.evaluate(threads), 4)
        self.assertIn("find=", browser.evaluate("location.hash"))
        browser.evaluate(f"{VIEW}.search(''); {VIEW}.folded.clear(); {VIEW}.fold.click()")
        self.assertEqual(browser.evaluate(threads), 4, "those that a control path held")
        self.assertEqual(browser.faults(), [])

    def test_times_of_other_pages_mean_the_same(self):
        """The window of the system begins a second before that of the aggregate, whose pages lead here."""
        browser = self.browser
        self.open("few", "running.html#from=1000000&to=3000000&mark=2000000-2500000")
        self.assertEqual(browser.evaluate(f"[{VIEW}.axis.from, {VIEW}.axis.to, {VIEW}.brush.range]"), [1001000000, 1003000000, [1002000000, 1002500000]])
        browser.evaluate(f"{VIEW}.changed()")
        self.assertIn("mark=2000000-2500000", browser.evaluate("location.hash"))
        self.assertEqual(browser.evaluate("document.querySelector('.brushed a').textContent"), "Its flame")
        self.assertEqual(browser.faults(), [])

    def test_a_damaged_window_is_left_out(self):
        """The pages are written without it, and the reporter says that something is missing."""
        file, out = self.folder.name + "/damaged.system", self.folder.name + "/damaged"
        with open(self.folder.name + "/few.system", "rb") as whole, open(file, "wb") as damaged:
            damaged.write(whole.read()[:-100])
        def report(name):
            return subprocess.run([f"{BIN}/wakepath-reporter", "--store", self.folder.name + "/store", "--out", out, "--quiet", "--system-window", name],
                                  check=False, stderr=subprocess.PIPE, text=True)
        missing = report(file + ".none")
        self.assertEqual(missing.returncode, 1, missing.stderr)
        self.assertIn(f"cannot open '{file}.none'", missing.stderr)
        self.assertFalse(os.path.exists(out))
        ran = report(file)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("pages could not be made", ran.stderr)
        self.assertFalse(os.path.exists(out + "/v1/system-data.js"))
        with open(out + "/v1/main/running.html", encoding="utf-8") as page:
            self.assertNotIn("system-data.js", page.read())
        def single(*words):
            return subprocess.run([f"{BIN}/wakepath-reporter", "--store", self.folder.name + "/store", "--aggregate", "main", *words],
                                  check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        plain, without, missing = (single("--single-file", *words) for words in ((), ("--system-window", file), ("--system-window", file + ".none")))
        self.assertEqual((without.returncode, without.stdout), (0, plain.stdout))
        self.assertIn("the Timeline shows the threads of the aggregate alone", without.stderr)
        self.assertEqual((missing.returncode, missing.stdout), (1, ""))
        with open(self.folder.name + "/pages.conf", "w", encoding="ascii") as config:
            config.write(f"system-window = {file}.none\n")
        self.assertEqual(single("--config", config.name, "--format", "json").returncode, 0, "a file's is for the runs of it that make pages")

    def test_an_interval_has_a_flame(self):
        """Of the pieces that are kept event by event; all of the window is all of the flame's part of it."""
        browser = self.browser
        self.open("few", "chronology.html")
        whole = browser.evaluate("(function () { var d = wakepath.payloads.trace; return [d.length, d.piece_length.reduce(function (a, b) { return a + b; }, 0)]; })()")
        self.open("few", f"flame.html#stretch=0-{whole[0]}")
        self.assertTrue(browser.wait("window.wakepath.flame.times.stretch"))
        half = whole[0] // 2
        sums = browser.evaluate(f"""(function () {{
          var all = wakepath.flame.all, trace = wakepath.payloads.trace, sum = function (from, to) {{ return wakepath.stretch.cells(all, trace, from, to); }};
          var parts = [sum(0, {whole[0]}), sum(0, {half}), sum({half}, {whole[0]})];
          return parts.map(function (p) {{ return [p.ns, p.missed, Array.from(p.cells).reduce(function (a, b) {{ return a + b; }}, 0)]; }}); }})()""")
        self.assertEqual(sums[0][0], whole[1])
        for ns, missed, cells in sums:
            self.assertEqual(ns, missed + cells)
        self.assertEqual(sums[0][0], sums[1][0] + sums[2][0])
        self.assertGreater(sums[0][2], 0)
        self.assertEqual(browser.evaluate("wakepath.flame.during.total[0]"), sums[0][2])
        self.assertEqual(browser.faults(), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:], verbosity=2)
