#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens every page of made-up sites in Chromium: each must draw, without a console error or a request elsewhere; then uses
the views as a reader would. browser_test.py BIN_DIR SAMPLE_TOOL"""
import os
import subprocess
import sys
import tempfile
import unittest

import accessible
import till
from browser import Browser

BIN, SAMPLE = sys.argv[1], sys.argv[2]


def make_site(folder, kind):
    store, out = f"{folder}/store-{kind}", f"{folder}/site-{kind}"
    subprocess.run([SAMPLE, kind, store], check=True)
    code = f"{folder}/{kind}-code"
    till.write_source(code)
    subprocess.run([f"{BIN}/wakepath-reporter", "--store", store, "--out", out, "--quiet", "--source-map", f"/build/shop={code}/code"],
                   check=True)
    return "file://" + out


SOURCES = ["v1/main/functions.html", "v1/main/sources.html", "v1/main/source-1.html", "v1/main/source-3.html", "v1/main/source-4.html"]


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="wp-browser-test-")
        cls.sites = {kind: make_site(cls.folder.name, kind) for kind in ("plain", "hostile", "large", "fleet", "source")}
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def open(self, kind, page):
        ready = self.browser.open(f"{self.sites[kind]}/{page}")
        self.assertEqual(self.browser.faults(), [], page)
        self.assertTrue(ready, f"{page} never said that it is drawn")
        return ready

    def drawn(self, ready, view):
        name, _, count = ready.partition(":")
        self.assertEqual(name, view)
        self.assertGreater(int(count), 0, ready)
        return int(count)

    def dark_pixels(self):
        """How many different colours the canvas holds: an empty one has one."""
        return self.browser.evaluate("""(function () {
          var canvas = document.querySelector('.stage canvas'), seen = new Set();
          var data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          for (var i = 0; i < data.length; i += 4)
            seen.add(data[i] << 24 | data[i + 1] << 16 | data[i + 2] << 8 | data[i + 3]);
          return seen.size; })()""")

    def test_every_page_draws_without_a_fault(self):
        for kind in self.sites:
            for page in ("index.html", "v1/index.html", "v1/main/index.html", "v1/main/processes.html",
                         "v1/main/functions.html", "v1/main/functions-1.html", "v1/main/hosts.html", "v1/main/io.html", "v1/main/waits.html", "v1/main/exemplars.html",
                         "v1/main/requests.html", "v1/main/unexplained.html", "v1/main/about.html"):
                self.assertEqual(self.open(kind, page), "page")
            for page, view in (("flame", "flame"), ("chronology", "chronology"), ("running", "running"), ("exemplar-1", "chronology"),
                               ("exemplar-rows-1", "running")):
                if kind in ("fleet", "source") and view != "flame" or kind == "large" and page.startswith("exemplar"):
                    continue  # nothing of it was kept event by event
                self.drawn(self.open(kind, f"v1/main/{page}.html"), view)
                self.assertGreater(self.dark_pixels(), 3, f"{kind} {page}")

        for page in ("sources", "source-1", "source-4"):
            for kind in ("hostile", "source"):
                self.assertEqual(self.open(kind, f"v1/main/{page}.html"), "page")

    def test_a_line_leads_to_its_callers_and_back(self):
        self.open("source", "v1/main/functions-1.html")
        browser = self.browser
        browser.open(browser.evaluate("Array.from(document.querySelectorAll('dd a')).find(a => a.textContent === 'money.h:7').href"))
        self.assertEqual(browser.evaluate("document.querySelector(':target .text').textContent"), "    return price * count / 100;")
        browser.open(browser.evaluate("document.querySelector('.caller a:last-of-type').href"))
        self.assertIn("sum += cents(", browser.evaluate("document.querySelector(':target .text').textContent"))
        self.assertEqual(browser.evaluate("document.querySelector('h1').textContent"), "till.c")
        browser.open(browser.evaluate("document.querySelector('#file-functions a').href"))
        self.assertIn("functions-1.html", browser.evaluate("location.href"))
        self.assertEqual(browser.faults(), [])

    def test_flame_zooms_searches_and_keeps_its_address(self):
        self.open("plain", "v1/main/flame.html")
        browser = self.browser
        browser.evaluate("window.wakepath.flame.zoomTo(5)")
        self.assertIn("node=", browser.evaluate("location.hash"))
        address = browser.evaluate("location.href")
        zoom = browser.evaluate("window.wakepath.flame.name(window.wakepath.flame.zoom)")
        browser.open(address)
        self.assertEqual(browser.evaluate("window.wakepath.flame.name(window.wakepath.flame.zoom)"), zoom)
        browser.evaluate("document.querySelector('.stage canvas').focus()")
        browser.key("Escape")
        self.assertEqual(browser.evaluate("window.wakepath.flame.zoom"), 0)
        browser.evaluate("var b = document.querySelector('input[type=search]'); b.value = 'ira';"
                         "b.dispatchEvent(new Event('input'))")
        self.assertTrue(browser.wait("document.querySelector('.found').textContent.indexOf('603 ms') === 0"))
        self.assertEqual(browser.faults(), [])

    def test_flame_click_zooms_and_keys_move(self):
        self.open("plain", "v1/main/flame.html")
        browser = self.browser
        box = browser.evaluate("(function () { var r = document.querySelector('.stage canvas').getBoundingClientRect();"
                               "return [r.left, r.top, r.width, r.height]; })()")
        browser.click(box[0] + 30, box[1] + box[3] - 35)
        self.assertTrue(browser.wait("window.wakepath.flame.zoom === 1"))
        browser.key("ArrowUp")
        self.assertEqual(browser.evaluate("window.wakepath.flame.selected"), 2)
        self.assertFalse(browser.evaluate("document.querySelector('.tip').hidden"))
        self.assertEqual(browser.faults(), [])

    def test_a_process_and_a_category_open_their_flame(self):
        self.open("plain", "v1/main/flame.html#process=%5Bcc1%5D")
        browser = self.browser
        self.assertEqual(browser.evaluate("window.wakepath.flame.gathered"), "all of [cc1]")
        self.assertEqual(browser.evaluate("window.wakepath.flame.model.total[0]"), 2340000000)
        self.open("plain", "v1/main/flame.html#category=blocking_io")
        self.assertIn("799 ms", browser.evaluate("document.querySelector('.found').textContent"))

    def test_pages_are_accessible(self):
        pages = ["index.html", "v1/index.html"] + ["v1/main/" + page + ".html" for page in (
            "index", "flame", "chronology", "running", "exemplars", "exemplar-1", "exemplar-rows-1", "waits", "requests", "processes", "functions", "functions-1", "hosts", "io",
            "unexplained", "about")]
        for dark in (False, True):
            self.browser.call("Emulation.setEmulatedMedia",
                              {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
            for kind, shown in (("plain", pages), ("fleet", pages), ("source", SOURCES)):
                for page in shown:
                    if kind == "fleet" and "exemplar-" in page:
                        continue
                    self.open(kind, page)
                    self.assertEqual(self.browser.evaluate(accessible.SCRIPT), [], f"{kind} {page} {'dark' if dark else 'light'}")
        self.browser.call("Emulation.setEmulatedMedia", {"features": []})

    def test_a_stretch_of_time_is_chosen(self):
        browser, times = self.browser, "window.wakepath.flame.times"
        self.open("fleet", "v1/main/flame.html")
        whole = browser.evaluate("window.wakepath.flame.model.total[0]")
        browser.evaluate(times + ".toggle.click()")
        self.assertTrue(browser.wait(times + ".data && 1"))
        columns = browser.evaluate(times + ".sums.length")
        parts = [browser.evaluate(f"({times}.choose([{i}, {i}]), window.wakepath.flame.model.total[0])") for i in range(columns)]
        self.assertGreater(columns, 3)
        self.assertEqual(sum(parts), browser.evaluate(f"Array.from({times}.sums).reduce(function (a, b) {{ return a + b; }})"))
        self.assertLessEqual(sum(parts), whole)
        address = browser.evaluate("location.href")
        browser.open(address)
        self.assertTrue(browser.wait(f"{times}.range && {times}.range[0] === {columns - 1}"), address)
        browser.evaluate(times + ".canvas.focus()")
        browser.key("ArrowLeft")
        self.assertEqual(browser.evaluate(times + ".range.join()"), f"{columns - 2},{columns - 2}")
        browser.key("Escape")
        self.assertEqual(browser.evaluate("window.wakepath.flame.model.total[0]"), whole)
        self.open("fleet", "v1/main/index.html")
        link = browser.evaluate("document.querySelectorAll('.timeline a')[1].href.baseVal")
        browser.open(f"{self.sites['fleet']}/v1/main/{link}")
        self.assertTrue(browser.wait(f"{times}.range && {times}.range.join() === '1,1'"), link)
        self.assertEqual(browser.faults(), [])

    def test_a_frame_shows_one_of_its_stretches(self):
        self.open("plain", "v1/main/flame.html")
        browser, flame = self.browser, "window.wakepath.flame"
        browser.evaluate(f"{flame}.zoomTo({flame}.model.frame.indexOf({flame}.model.frames.findIndex(function (f) "
                         "{ return f[1] === '[cc1]'; }), 1))")
        browser.evaluate(flame + ".one[0].click()")
        self.assertTrue(browser.wait("location.href.indexOf('exemplar-1.html#from=') > 0"))
        self.assertTrue(browser.wait("document.body && document.body.dataset.ready"))
        self.assertIn("[cc1]", browser.evaluate("(function () { var c = window.wakepath.chronology, names = [];"
                                                "c.paths.forEach(function (p) { p.rows.forEach(function (r) { r.node.forEach(function (n, i) {"
                                                "if (r.end[i] > c.axis.from && r.start[i] < c.axis.to) names.push(c.frame(n)[1]); }); }); });"
                                                "return names.join(' '); })()"))
        self.assertEqual(browser.faults(), [])
        self.open("plain", "v1/main/flame.html")
        browser.evaluate(f"{flame}.zoomTo({flame}.model.frame.indexOf({flame}.model.frames.findIndex(function (f) "
                         "{ return f[1] === '[cc1]'; }), 1))")
        browser.evaluate(flame + ".one[1].click()")
        self.assertTrue(browser.wait("/exemplar-[0-9]+.html#from=/.test(location.href) && document.body && document.body.dataset.ready"))
        self.assertIn("drawn by lot", browser.evaluate("document.querySelector('main').textContent.toLowerCase()"))
        self.assertEqual(browser.faults(), [])

    def test_a_host_has_its_flame(self):
        self.open("plain", "v1/main/flame.html")
        flame = "window.wakepath.flame"
        self.browser.evaluate(f"{flame}.whole.frames.forEach(function (f) {{ if (f[1] === '[cc1]') f[1] = '[cc1]@h2'; }})")
        self.assertTrue(self.browser.evaluate(f"{flame}.gather('host', 'h2')"))
        self.assertEqual(self.browser.evaluate(f"{flame}.model.total[0]"), 2340000000)
        self.assertFalse(self.browser.evaluate(f"{flame}.gather('host', 'h3')"))

    def test_paper_has_everything_unfolded_and_light(self):
        self.open("plain", "v1/main/flame.html")
        browser = self.browser
        browser.evaluate("document.documentElement.setAttribute('data-theme', 'dark')")
        browser.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        browser.call("Emulation.setEmulatedMedia", {"media": "print"})
        self.assertEqual(browser.evaluate("document.querySelectorAll('details:not([open])').length"), 0)
        self.assertGreater(browser.evaluate("document.querySelector('.stage canvas').getBoundingClientRect().height"), 50)
        self.assertEqual(browser.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        self.assertEqual(browser.evaluate("getComputedStyle(document.querySelector('.tools')).display"), "none")
        browser.call("Emulation.setEmulatedMedia", {"media": ""})
        browser.evaluate("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(browser.evaluate("document.documentElement.getAttribute('data-theme')"), "dark")
        self.assertEqual(browser.faults(), [])

    def test_a_wait_on_another_path_leads_to_that_path(self):
        self.open("plain", "v1/main/flame.html")
        browser = self.browser
        find = ("(function (name) { var f = window.wakepath.flame; for (var i = 1; i < f.model.count; i++) "
                "if (f.name(i) === name) return i; return 0; })('%s')")
        where = "[window.wakepath.flame.name(window.wakepath.flame.zoom), window.wakepath.flame.model.parent[window.wakepath.flame.zoom]]"
        browser.evaluate(f"window.wakepath.flame.zoomTo({find % 'path:[kworker/0:1]'})")
        browser.evaluate("document.querySelector('.trail .follow').click()")
        self.assertEqual(browser.evaluate(where), ["[kworker/0:1]", 0])
        self.assertIn("node=", browser.evaluate("location.hash"))
        # one that stands nowhere by itself: all of that process
        browser.evaluate(f"window.wakepath.flame.zoomTo({find % 'path:[cc1]'}); document.querySelector('.stage canvas').focus()")
        browser.key("Enter")
        self.assertEqual(browser.evaluate("window.wakepath.flame.gathered"), "all of [cc1]")
        self.assertIn("process=", browser.evaluate("location.hash"))
        # the table's links lead to the same
        for link, shown in (("node=", "[kworker/0:1]"), ("process=", "all of [cc1]")):
            self.open("plain", "v1/main/flame.html")
            address = browser.evaluate("Array.from(document.querySelectorAll('td a')).filter(function (a) { return a.textContent === "
                                       "'Waiting on other path' && a.hash.indexOf('%s') === 1; })[0].href" % link)
            browser.open(address)
            self.assertEqual(browser.evaluate("(function (f) { return f.zoom ? f.name(f.zoom) : f.gathered; })(window.wakepath.flame)"),
                             shown)
        self.assertEqual(browser.faults(), [])

    def test_running_view_shows_sleeps_and_leads_to_a_flame(self):
        self.open("plain", "v1/main/running.html")
        browser = self.browser
        before = browser.evaluate("window.wakepath.running.drawn")
        browser.evaluate("window.wakepath.running.sleepButton.click()")
        self.assertTrue(browser.wait(f"window.wakepath.running.drawn > {before}"))
        box = browser.evaluate("(function () { var r = document.querySelector('.stage canvas').getBoundingClientRect();"
                               "return [r.left, r.top]; })()")
        browser.click(box[0] + 20, box[1] + 24 + 4 + 11)
        self.assertTrue(browser.wait("location.pathname.endsWith('flame.html') && window.wakepath && window.wakepath.flame "
                                     "&& window.wakepath.flame.gathered === 'all of [make]'"))
        self.assertEqual(browser.faults(), [])

    def test_time_zooms_by_wheel_and_parts_rectangles(self):
        for page in ("chronology", "running"):
            self.open("plain", f"v1/main/{page}.html")
            browser = self.browser
            browser.mouse("mouseWheel", 600, 420, deltaX=0, deltaY=-400)
            self.assertTrue(browser.wait(f"window.wakepath.{page}.axis.to < window.wakepath.{page}.axis.length"), page)
            self.assertIn("from=", browser.evaluate("location.hash"))
            self.assertEqual(browser.faults(), [])

    def test_large_flame_is_smooth(self):
        self.open("large", "v1/main/flame.html")
        nodes = self.browser.evaluate("window.wakepath.flame.model.count")
        self.assertGreater(nodes, 99000)
        times = []
        for _ in range(5):
            times.append(self.browser.evaluate("(function () { var f = window.wakepath.flame, s = f.surface; f.draw("
                                               "s.canvas.getContext('2d'), s.width, s.height, 0); return f.drawMs; })()"))
        print(f"flame of {nodes} nodes: {min(times):.1f} ms a frame")
        self.assertLess(min(times), 100)

    def test_difference_flame_is_coloured_by_change(self):
        store, out = self.folder.name + "/store-compared", self.folder.name + "/site-compared"
        for kind, release in (("service", "v1"), ("service-slower", "v2")):
            subprocess.run([SAMPLE, kind, store, release], check=True)
        subprocess.run([f"{BIN}/wakepath-reporter", "--store", store, "--out", out, "--quiet"], check=True)
        browser = self.browser
        ready = browser.open(f"file://{out}/v2/main/compare.html")
        self.assertEqual(browser.faults(), [])
        self.drawn(ready, "flame")
        colours = browser.evaluate("""(function () { var f = window.wakepath.flame, seen = {};
          for (var i = 0; i < f.model.count; i++) seen[f.name(i)] = f.colour(i);
          return [seen['io:read vda'], seen['accept4'], seen['render'], f.colours['f-worse'], f.colours['f-worse-weak'],
            f.colours['f-better-weak'], f.colours['f-same']]; })()""")
        self.assertIn(colours[0], colours[3:5])
        self.assertEqual((colours[1], colours[2]), (colours[5], colours[6]))
        self.assertEqual(len(set(colours[3:])), 4)
        lines = browser.evaluate("""(function () { var f = window.wakepath.flame;
          for (var i = 0; i < f.model.count; i++) if (f.name(i) === 'io:read vda') return f.describe(i).rows; })()""")
        self.assertIn(["In v1", lines[2][1]], lines)
        self.assertIn("takes longer", [row[1] for row in lines])
        browser.evaluate("document.querySelector('table#changes tbody a').click()")
        self.assertTrue(browser.wait("window.wakepath.flame.name(window.wakepath.flame.zoom) === '[postgres]'"))
        browser.evaluate("document.querySelectorAll('table#changes th button')[5].click()")
        self.assertIn("+19", browser.evaluate("document.querySelector('table#changes tbody td.worse + td').textContent"))
        self.assertEqual(browser.faults(), [])
        self.assertTrue(browser.open(f"file://{out}/index.html"))
        self.assertEqual(browser.evaluate("document.querySelectorAll('svg.trend .dot').length"), 4)

    def test_tables_sort_and_filter(self):
        self.open("plain", "v1/main/functions.html")
        browser = self.browser
        browser.evaluate("document.querySelectorAll('th button')[3].click()")
        self.assertIn("ira", browser.evaluate("document.querySelector('tbody tr td').textContent"))
        browser.evaluate("var b = document.querySelector('.filter'); b.value = 'nginx'; b.dispatchEvent(new Event('input'))")
        left = browser.evaluate("Array.from(document.querySelectorAll('tbody tr')).filter(function (r) { return !r.hidden; })"
                                ".map(function (r) { return r.textContent; })")
        self.assertTrue(left and all("nginx" in row for row in left), left)

        browser.evaluate("var b = document.querySelector('.filter'); b.value = 'nginx -main'; b.dispatchEvent(new Event('input'))")
        fewer = browser.evaluate("Array.from(document.querySelectorAll('tbody tr')).filter(function (r) { return !r.hidden; })"
                                 ".map(function (r) { return r.textContent; })")
        self.assertTrue(fewer and all("nginx" in row and "main" not in row for row in fewer), fewer)

    def test_files_are_folded_into_what_calls_them(self):
        self.open("plain", "v1/main/flame.html")
        browser, flame = self.browser, "window.wakepath.flame"
        total = browser.evaluate(flame + ".model.total[0]")
        drawn = flame + ".model.frame.slice(1).reduce(function (seen, f) { seen[" + flame + ".model.frames[f][1]] = 1; return seen; }, {})"
        at = (f"{flame}.model.frame.indexOf({flame}.model.frames.findIndex(function (f) {{ return f[1] === 'read' && f[2] === 'libc.so.6'; }}), 1)")
        self.assertIn("filemap_fault", browser.evaluate(f"Object.keys({drawn})"))
        browser.evaluate(flame + ".folds.kernel.click()")
        names = browser.evaluate(f"Object.keys({drawn})")
        self.assertNotIn("filemap_fault", names)
        self.assertIn("read", names)
        self.assertEqual(browser.evaluate(flame + ".model.total[0]"), total)
        browser.evaluate(f"{flame}.zoomTo({at})")
        browser.evaluate(flame + ".folds.fold.click()")
        names = browser.evaluate(f"Object.keys({drawn})")
        self.assertNotIn("read", names)
        self.assertIn("sleep:read", names)  # what was waited for stays, on who called it
        self.assertEqual(browser.evaluate(flame + ".model.total[0]"), total)
        address = browser.evaluate("location.href")
        self.assertIn("hide=", address)
        browser.open(address)
        self.assertEqual(browser.evaluate(f"Object.keys({drawn}).length"), len(names))
        browser.evaluate("document.querySelector('.trail .step:last-of-type').click()")
        self.assertIn("read", browser.evaluate(f"Object.keys({drawn})"))
        self.assertEqual(browser.faults(), [])

    def test_the_main_path_ends_where_it_parts(self):
        self.open("plain", "v1/main/flame.html")
        flame = "window.wakepath.flame"
        node = self.browser.evaluate(flame + ".mainPath()")
        totals = self.browser.evaluate(f"[{flame}.model.total[0], {flame}.model.total[{node}], {flame}.model.total[{flame}.model.parent[{node}]]]")
        self.assertGreater(node, 3)
        self.assertLessEqual(totals[1], 0.9 * totals[0])
        self.assertGreater(totals[2], 0.9 * totals[0])

    def test_theme_button_changes_colours(self):
        self.open("plain", "v1/main/flame.html")
        browser = self.browser
        before = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        browser.evaluate("document.getElementById('theme').click()")
        self.assertNotEqual(browser.evaluate("getComputedStyle(document.body).backgroundColor"), before)
        browser.evaluate("document.getElementById('theme').click()")
        self.assertEqual(browser.evaluate("getComputedStyle(document.body).backgroundColor"), before)

    def test_a_hostile_name_runs_nothing(self):
        self.open("hostile", "v1/main/flame.html")
        browser = self.browser
        for node in range(1, 60):
            browser.evaluate(f"window.wakepath.flame.zoomTo({node}); window.wakepath.flame.tip.show(9, 9, "
                             f"window.wakepath.flame.describe({node}))")
        self.assertEqual(browser.evaluate("document.querySelectorAll('img, .tip script, .tip b, .trail b').length"), 0)
        self.assertEqual(browser.faults(), [])

    def test_the_policy_stops_another_host(self):
        self.open("plain", "index.html")
        self.browser.evaluate("document.body.appendChild(document.createElement('img')).src = 'http://127.0.0.1:9/x'")
        self.assertTrue(self.browser.wait("1") and any("Content Security Policy" in fault for fault in self.browser.faults()),
                        self.browser.faults())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
