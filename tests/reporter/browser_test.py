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
        cls.sites = {kind: make_site(cls.folder.name, kind) for kind in ("plain", "hostile", "large", "fleet", "source", "shards")}
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
                         "v1/main/functions.html", "v1/main/functions-1.html", "v1/main/modules.html", "v1/main/hosts.html", "v1/main/io.html", "v1/main/waits.html", "v1/main/exemplars.html",
                         "v1/main/requests.html", "v1/main/unexplained.html", "v1/main/about.html", "v1/main/processor.html", *(["v1/main/detached.html"] if kind in ("plain", "hostile") else [])):
                self.assertEqual(self.open(kind, page), "page")
            for page, view in (("flame", "flame"), ("chronology", "chronology"), ("running", "running"), ("exemplar-1", "chronology"),
                               ("exemplar-rows-1", "running")):
                if kind in ("fleet", "source", "shards") and view != "flame" or kind == "large" and page.startswith("exemplar"):
                    continue  # nothing of it was kept event by event
                self.drawn(self.open(kind, f"v1/main/{page}.html"), view)
                self.assertGreater(self.dark_pixels(), 3, f"{kind} {page}")

            self.drawn(self.open(kind, "v1/main/behind.html"), "behind")

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

    def test_columns_of_numbers_are_read_as_they_were_written(self):
        self.open("plain", "v1/main/flame.html")
        columns = {"ACDegBgrC": [0, 1, 0, 15, 31, 1231], "+/////////PA//////////P": [2 ** 53 - 1, 2 ** 53 - 1, 0], "": []}
        for text, numbers in columns.items():  # number_column_test.c writes these
            self.assertEqual(self.browser.evaluate(f"Array.from(wakepath.column({len(numbers)}, '{text}'))"), numbers)

    def test_a_folded_table_sorts_once_it_is_unfolded(self):
        self.open("plain", "v1/main/flame.html")
        browser = self.browser
        self.assertEqual(browser.evaluate("document.querySelectorAll('details th button').length"), 0)
        browser.evaluate("document.querySelector('details summary').click()")
        self.assertTrue(browser.wait("document.querySelector('details th.k-duration button') && 1"))
        browser.evaluate("(function (b) { b.click(); b.click(); })(document.querySelector('details th.k-duration button'))")
        times = browser.evaluate("Array.from(document.querySelectorAll('details td.k-duration')).map(c => +c.dataset.v)")
        self.assertEqual(times, sorted(times))
        self.assertGreater(len(times), 5)

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
            "index", "flame", "behind", "modules", "chronology", "running", "exemplars", "exemplar-1", "exemplar-rows-1", "waits", "requests", "processes", "functions", "functions-1", "hosts", "io",
            "unexplained", "about")]
        for dark in (False, True):
            self.browser.call("Emulation.setEmulatedMedia",
                              {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
            for kind, shown in (("plain", pages), ("fleet", [] if dark else pages), ("source", SOURCES), ("shards", ["v1/main/behind.html"])):
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

    ROWS = ("(function (title) { var part = Array.from(document.querySelectorAll('.part')).find(function (p) {"
            "return p.querySelector('h2').textContent === title; }); return Array.from(part.querySelectorAll('tbody tr')).map(function (r) {"
            "return Array.from(r.cells).map(function (c) { return c.textContent; }).join('|'); }); })('%s')")
    PRESS = ("Array.from(Array.from(document.querySelectorAll('.part')).find(function (p) { return p.querySelector('h2').textContent === '%s'; })"
             ".querySelectorAll('a')).find(function (a) { return a.textContent === '%s'; }).href")

    def behind(self, kind, fragment, total):
        """Opens what stands behind a figure and waits for it to be summed up."""
        self.open(kind, "v1/main/behind.html#" + fragment)
        self.assertTrue(self.browser.wait(f"window.wakepath.behind.isThere && window.wakepath.behind.total === {total}"),
                        f"{fragment}: {self.browser.evaluate('window.wakepath.behind.total')}")

    def test_a_figure_is_parted_by_host_time_and_place(self):
        browser = self.browser
        self.behind("shards", "gather=serve", 1080000000)
        self.assertEqual(browser.evaluate(self.ROWS % "Whose time it is"),
                         ["shard s3 <b>web-4, web-3|480 ms|44 %", "web-2|360 ms|33 %", "web-1|240 ms|22 %"])
        self.assertEqual(browser.evaluate(self.ROWS % "Where it passed"),
                         ["the host itself of the process of interest|540 ms|50 %", "db-3|540 ms|50 %"])
        self.assertEqual([row.split("|")[0] for row in browser.evaluate(self.ROWS % "Who leads to it")], ["_start web"])
        # one host alone: s2 is 3 ms a second, in its own minute, here half of it on a database's host
        browser.open(browser.evaluate(self.PRESS % ("Whose time it is", "web-2")))
        self.assertTrue(browser.wait("window.wakepath.behind && window.wakepath.behind.total === 360000000"))
        self.assertIn("hosts=web-2", browser.evaluate("location.hash"))
        self.assertEqual(browser.evaluate(self.ROWS % "Where it passed"),
                         ["the host itself of the process of interest|180 ms|50 %", "db-3|180 ms|50 %"])
        times = browser.evaluate("Array.from(window.wakepath.behind.times.sums)")
        self.assertEqual(sum(times), 360000000)
        # a stretch of it: web-2 was not there in the first minute
        self.behind("shards", "gather=serve&hosts=web-2&from=1790000000000&to=1790000051000", 0)
        self.behind("shards", "gather=memcpy&hosts=web-2%7Cweb-1", 300000000)
        self.behind("shards", "process=%5Bweb%5D", 1080000000)
        self.assertEqual(browser.evaluate(self.ROWS % "Its processes by host"),
                         ["<b>web-4|480 ms|240 ms", "web-3|480 ms|240 ms", "web-2|360 ms|180 ms", "web-1|240 ms|120 ms"])
        self.behind("shards", "host=db-3", 540000000)
        self.behind("shards", "waiter=web&for=postgres%40db-3", 540000000)
        self.behind("shards", "module=libc.so.6", 1080000000)
        self.behind("plain", "gather=_start&file=make", 3207000000)
        self.assertEqual(browser.faults(), [])

    def test_hosts_and_times_are_chosen_in_the_flame(self):
        browser, total = self.browser, "window.wakepath.flame.model.total[0]"
        self.open("shards", "v1/main/flame.html")
        browser.evaluate("window.wakepath.flame.hosts.toggle.click()")
        self.assertTrue(browser.wait("window.wakepath.flame.hosts.marks && 1"))
        browser.evaluate("window.wakepath.flame.hosts.marks[0].click()")
        self.assertTrue(browser.wait(total + " === 600000000"))
        self.assertIn("hosts=web-2%7Cweb-1", browser.evaluate("location.hash"))
        browser.evaluate("window.wakepath.flame.hosts.marks[2].click()")
        self.assertTrue(browser.wait(total + " === 360000000"))
        address = browser.evaluate("location.href")
        browser.open(address)
        self.assertTrue(browser.wait(f"window.wakepath && window.wakepath.flame && {total} === 360000000"), address)
        browser.evaluate("window.wakepath.flame.times.toggle.click()")
        self.assertTrue(browser.wait("window.wakepath.flame.times.data && 1"))
        parts = [browser.evaluate(f"(window.wakepath.flame.times.choose([{i}, {i}]), {total})")
                 for i in range(browser.evaluate("window.wakepath.flame.times.sums.length"))]
        self.assertEqual((sum(parts), parts[0]), (360000000, 0))
        browser.evaluate("Array.from(document.querySelectorAll('.tools button')).find(b => b.textContent === 'Behind it').click()")
        self.assertTrue(browser.wait("location.pathname.endsWith('behind.html') && window.wakepath && window.wakepath.behind && window.wakepath.behind.isThere"))
        self.assertEqual(browser.evaluate("window.wakepath.behind.total"), parts[-1])
        self.assertEqual(browser.faults(), [])

    def test_what_is_in_a_figure_can_be_ranked_and_left_out(self):
        browser = self.browser
        self.behind("plain", "process=%5Bcc1%5D&by=run&top=1%25", 2340000000)
        rows = [row.split("|") for row in browser.evaluate(self.ROWS % "What is in it")]
        self.assertGreater(len(rows), 2)
        self.assertNotIn("0 ns", [row[3] for row in rows])
        browser.evaluate("(function (s) { s.value = 'modules'; s.dispatchEvent(new Event('change')); })(window.wakepath.behind.controls.what)")
        self.assertIn("what=modules", browser.evaluate("location.hash"))
        self.assertIn("cc1", browser.evaluate(self.ROWS % "What is in it")[0])
        before = browser.evaluate("window.wakepath.behind.folded.count")
        browser.open(browser.evaluate(self.PRESS % ("What is in it", "leave out")))
        self.assertTrue(browser.wait(f"window.wakepath.behind && window.wakepath.behind.isThere && window.wakepath.behind.folded.count < {before}"))
        self.assertEqual(browser.evaluate("window.wakepath.behind.total"), 2340000000)
        self.assertIn("hide=cc1", browser.evaluate("location.hash"))
        self.assertEqual(browser.faults(), [])

    def test_a_table_keeps_its_order_and_limit_in_the_address(self):
        browser = self.browser
        rows = ("Array.from(document.querySelectorAll('#functions tbody tr')).filter(function (r) { return !r.hidden; })"
                ".map(function (r) { return Number(r.cells[3].dataset.v); })")
        self.open("plain", "v1/main/functions.html")
        every = browser.evaluate(rows)
        browser.evaluate("document.querySelectorAll('#functions th button')[3].click()")
        choose = "(function (s) { s.value = '%s'; s.dispatchEvent(new Event('change')); })(document.querySelector('.tools select'))"
        browser.evaluate(choose % "20")
        self.assertEqual(browser.evaluate(rows), sorted(every, reverse=True)[:20])
        browser.evaluate(choose % "1%")
        self.assertEqual(browser.evaluate(rows), [ns for ns in sorted(every, reverse=True) if ns >= 32100000])
        browser.evaluate(choose % "1s")
        self.assertEqual(browser.evaluate(rows), [ns for ns in sorted(every, reverse=True) if ns >= 1e9])
        browser.evaluate(choose % "20")
        address = browser.evaluate("location.href")
        self.assertIn("#functions.sort=3d&functions.top=20", address)
        browser.open(address)
        self.assertEqual(browser.evaluate(rows), sorted(every, reverse=True)[:20])
        self.assertEqual(browser.faults(), [])

    def test_rootward_pages_turn_by_twenty(self):
        browser = self.browser
        self.open("large", "v1/main/behind.html")
        browser.evaluate("window.wakepath.behind.options.top = 'all'; window.wakepath.behind.showInside()")
        where = "Array.from(document.querySelectorAll('.pages output')).slice(-1)[0].textContent"
        self.assertEqual(len(browser.evaluate(self.ROWS % "What is in it")), 20)
        self.assertTrue(browser.evaluate(where).startswith("1 to 20 of "))
        name = browser.evaluate("window.wakepath.behind.folded.frames[window.wakepath.behind.folded.frame.slice().sort(function (a, b) { return a - b; })[40]][1]")
        browser.evaluate("Array.from(document.querySelectorAll('.pages button[title=\"The next rows\"]')).slice(-1)[0].click()")
        self.assertTrue(browser.evaluate(where).startswith("21 to 40 of "))
        for kind in ("functions", "places", "modules", "processes", "cliques"):
            self.open("large", f"v1/main/behind.html#rootward={kind}&gather={name}")
            self.assertTrue(browser.wait("window.wakepath.behind.isThere && window.wakepath.behind.total > 0"), name)
            rows = browser.evaluate("window.wakepath.sums.callers(window.wakepath.behind.base, window.wakepath.behind.baseRoots, '%s')"
                                    ".reduce(function (sum, row) { return sum + row.total; }, 0)" % kind)
            self.assertEqual(rows, browser.evaluate("window.wakepath.behind.total"), kind)
        self.assertEqual(browser.faults(), [])

    def test_what_a_window_did_not_keep_is_said_on_it(self):
        self.open("hostile", "v1/main/exemplar-1.html")
        blanks = self.browser.evaluate("(function (d) { d.omitted = 7; d.piece_start = [5000]; d.run_start = [0]; d.sleep_start = [10];"
                                       "d.piece_length = d.run_length = d.sleep_length = [1]; d.length = 9000;"
                                       "return [['piece'], ['run', 'sleep']].map(function (kinds) {"
                                       "return new window.wakepath.TimeView(d, 0, kinds).blanks; }); })"
                                       "(Object.assign({}, window.wakepath.payloads.trace))")
        self.assertEqual(blanks, [[[0, 5000], [5001, 9000]], [[1, 10], [11, 9000]]]) # each view of what it draws itself

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
        self.assertIn("sampled at random", browser.evaluate("document.querySelector('main').textContent.toLowerCase()"))
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
        # The whole drawing, not the part in sight, as large as a page at most.
        self.assertGreaterEqual(browser.evaluate("window.wakepath.flame.surface.height - window.wakepath.flame.surface.contentHeight"), 0)
        self.assertLessEqual(browser.evaluate("document.querySelector('.stage').getBoundingClientRect().height"), 620)
        self.assertEqual(browser.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        self.assertEqual(browser.evaluate("getComputedStyle(document.querySelector('.tools')).display"), "none")
        browser.call("Emulation.setEmulatedMedia", {"media": ""})
        browser.evaluate("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(browser.evaluate("document.documentElement.getAttribute('data-theme')"), "dark")
        self.assertEqual(browser.evaluate("document.querySelectorAll('.paper-note, .paper-short').length"), 0)
        self.assertEqual(browser.faults(), [])

    def test_paper_is_not_a_book(self):
        """Of a long table that nobody unfolded its beginning, and how much more there is."""
        shown = "Array.from(document.querySelectorAll('details tbody tr')).filter(function (row) { return row.offsetHeight; }).length"
        self.open("large", "v1/main/flame.html")
        browser = self.browser
        rows = browser.evaluate("document.querySelectorAll('details tbody tr').length")
        self.assertGreater(rows, 100)
        browser.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        browser.call("Emulation.setEmulatedMedia", {"media": "print"})
        self.assertEqual(browser.evaluate(shown), 40)
        self.assertIn(f"{rows - 40} more rows", browser.evaluate("document.querySelector('.paper-note').textContent"))
        browser.evaluate("window.dispatchEvent(new Event('afterprint'))")
        browser.evaluate("document.querySelector('details').open = true; window.dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(browser.evaluate(shown), rows)
        browser.evaluate("window.dispatchEvent(new Event('afterprint'))")
        browser.call("Emulation.setEmulatedMedia", {"media": ""})
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
                                       "'Other path' && a.hash.indexOf('%s') === 1; })[0].href" % link)
            browser.open(address)
            self.assertEqual(browser.evaluate("(function (f) { return f.zoom ? f.name(f.zoom) : f.gathered; })(window.wakepath.flame)"),
                             shown)
        self.assertEqual(browser.faults(), [])

    def test_timeline_leads_to_a_flame(self):
        self.open("plain", "v1/main/running.html")
        browser = self.browser
        box = browser.evaluate("(function () { var r = document.querySelector('.stage canvas').getBoundingClientRect();"
                               "return [r.left, r.top]; })()")
        browser.click(box[0] + 20, box[1] + browser.evaluate("window.wakepath.running.rowOf[0].top") + 11)
        self.assertTrue(browser.wait("location.pathname.endsWith('flame.html') && window.wakepath && window.wakepath.flame "
                                     "&& window.wakepath.flame.gathered === 'all of [make]'"))
        self.assertEqual(browser.faults(), [])

    def test_time_zooms_by_wheel_and_parts_rectangles(self):
        for page in ("chronology", "running"):
            self.open("plain", f"v1/main/{page}.html")
            browser = self.browser
            browser.mouse("mouseWheel", 600, 420, deltaX=0, deltaY=-400)
            self.assertTrue(browser.wait(f"window.wakepath.{page}.axis.to < window.wakepath.{page}.axis.length"), page)
            self.assertTrue(browser.wait("location.hash.indexOf('from=') >= 0"))
            self.assertEqual(browser.faults(), [])

    def test_a_large_flame_draws_what_can_be_seen(self):
        """How long that takes is for tests/bench/site.py to say: a frame of 100,000 nodes touches a few thousand."""
        self.open("large", "v1/main/flame.html")
        self.assertGreater(self.browser.evaluate("window.wakepath.flame.model.count"), 99000)
        self.assertGreater(self.browser.evaluate("window.wakepath.flame.drawn"), 100)
        self.assertLess(self.browser.evaluate("window.wakepath.flame.drawn"), 5000)

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
        # The older side's flame stands below it, in the same colours, and finds what the one search finds.
        older = browser.evaluate("""(function () { var f = window.wakepath.flame.other;
          for (var i = 0; i < f.model.count; i++) if (f.name(i) === 'io:read vda') return [f.colour(i), f.describe(i).rows]; })()""")
        self.assertEqual(older[0], colours[0])
        self.assertIn("In v2", [row[0] for row in older[1]])
        self.assertIn("takes longer", [row[1] for row in older[1]])
        browser.evaluate("window.wakepath.flame.search('postgres', null)")
        self.assertEqual(browser.evaluate("[window.wakepath.flame, window.wakepath.flame.other].map(function (f) {"
                                          " return f.hits.some(Boolean) && f.found.textContent.indexOf('matches') > 0; })"), [True, True])
        self.assertEqual(browser.evaluate("document.querySelectorAll('#view input[type=search]').length"), 1)
        browser.evaluate("document.querySelector('table#changes tbody a').click()")
        self.assertTrue(browser.wait("window.wakepath.flame.name(window.wakepath.flame.zoom) === '[postgres]'"))
        browser.evaluate("document.querySelectorAll('table#changes th button')[5].click()")
        self.assertIn("+19", browser.evaluate("document.querySelector('table#changes tbody td.worse + td').textContent"))
        self.assertEqual(browser.faults(), [])
        self.assertTrue(browser.open(f"file://{out}/index.html"))
        self.assertEqual(browser.evaluate("document.querySelectorAll('main > .trends .dot').length"), 4)
        self.assertGreaterEqual(browser.evaluate("document.querySelectorAll('main > details .trends .dot').length"), 4)
        self.assertIn("worse", browser.evaluate("document.querySelector('.cards .mark').textContent"))

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
        self.open("plain", "v1/main/flame.html#show=%5Bkernel%5D%7C%5Bstart-up%5D")
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

    def test_on_a_phone_the_release_keeps_its_name(self):
        """Whatever is cut behind it: "v" would be another release."""
        browser = self.browser
        self.open("plain", "v1/main/flame.html")
        browser.call("Emulation.setDeviceMetricsOverride", {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True})
        browser.evaluate("document.querySelector('.crumbs a:last-child bdi').textContent = 'python3 service.py --port 8080'")
        crumbs = browser.evaluate("Array.from(document.querySelectorAll('.crumbs a')).map(a => [a.scrollWidth, a.clientWidth])")
        browser.call("Emulation.clearDeviceMetricsOverride")
        self.assertEqual(crumbs[0][0], crumbs[0][1])
        self.assertGreater(crumbs[1][0], crumbs[1][1])

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
        self.assertTrue(self.browser.wait_for_fault("Content Security Policy"), self.browser.faults())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
