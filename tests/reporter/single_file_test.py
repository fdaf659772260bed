#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The one file of HTML: it asks for nothing, every page of it draws in Chromium, names run nothing, and without scripts all
of it is there. single_file_test.py BIN_DIR SAMPLE_TOOL"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from browser import Browser

BIN, SAMPLE = sys.argv.pop(1), sys.argv.pop(1)
PAGES = ["overview", "flame", "behind", "chronology", "running", "exemplars", "waits", "requests", "processes", "functions", "modules", "io", "hosts",
         "unexplained", "about", "detached", "processor"]
WINDOWS = [name for i in range(1, 11) for name in (f"exemplar-{i}", f"exemplar-rows-{i}")]


class SingleFile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="wp-single-")
        for kind in ("plain", "hostile"):
            subprocess.run([SAMPLE, kind, f"{cls.folder}/{kind}"], check=True)
            subprocess.run([f"{BIN}/wakepath-reporter", "--store", f"{cls.folder}/{kind}", "--single-file", "--out",
                            f"{cls.folder}/{kind}.html"], check=True)
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        shutil.rmtree(cls.folder)

    def text(self, kind):
        with open(f"{self.folder}/{kind}.html", encoding="utf-8", errors="strict") as file:
            return file.read()

    def open(self, kind, page):
        ready = self.browser.open(f"file://{self.folder}/{kind}.html#page={page}")
        self.assertEqual(self.browser.faults(), [], page)
        self.assertTrue(ready, page)

    def test_nothing_is_asked_for(self):
        for kind in ("plain", "hostile"):
            text = self.text(kind)
            for address in re.findall(r' (?:href|src)="([^"]*)"', text):
                self.assertRegex(address, r"^#page=[a-z-]+[0-9]*(&amp;.*)?$")
            self.assertEqual(text.count("<script"), text.count("</script>"))
            self.assertEqual(text.count("<script"), text.count('<script nonce="'))
            ids = re.findall(r' id="([^"]*)"', text)
            self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(re.findall(r'data-page="([a-z0-9-]*)"', self.text("plain")), PAGES + WINDOWS)

    def test_it_is_the_same_again(self):
        done = subprocess.run([f"{BIN}/wakepath-reporter", "--store", f"{self.folder}/plain", "--single-file"], capture_output=True,
                              check=True)
        self.assertEqual(done.stdout.decode(), self.text("plain"))

    def test_every_page_draws(self):
        for kind in ("plain", "hostile"):
            for page in PAGES + WINDOWS[2:4]:
                self.open(kind, page)
                self.assertEqual(self.browser.evaluate("Array.from(document.querySelectorAll('main > section')).filter("
                                                       "function (s) { return !s.hidden; }).map(function (s) {"
                                                       "return s.dataset.page; })"), [page])
                if page in ("flame", "chronology", "running"):
                    self.assertTrue(self.browser.wait(f"window.wakepath.{page} && window.wakepath.{page}.drawn > 0"), page)
                self.assertEqual(self.browser.faults(), [], page)

    def test_a_figure_leads_to_its_windows(self):
        browser = self.browser
        self.open("plain", "processes")
        browser.evaluate("Array.from(document.querySelectorAll('main > section:not([hidden]) tbody tr')).find(function (r) {"
                         "return r.cells[0].textContent.indexOf('cc1') === 0; }).cells[3].querySelector('a').click()")
        self.assertTrue(browser.wait("window.wakepath.behind && window.wakepath.behind.total === 2340000000"))
        browser.evaluate("Array.from(document.querySelectorAll('main > section:not([hidden]) .part')).find(function (p) {"
                         "return p.querySelector('h2').textContent === 'Show me one'; }).querySelectorAll('a')[1].click()")
        self.assertTrue(browser.wait("/#page=exemplar-[0-9]+&from=/.test(location.hash) && window.wakepath.chronology.drawn > 0"))
        self.assertEqual(browser.evaluate("Math.round(window.wakepath.chronology.axis.from)"),
                         int(browser.evaluate("window.wakepath.view.readHash().from")))
        browser.evaluate("location.hash = '#page=exemplar-rows-1'")
        self.assertTrue(browser.wait("window.wakepath.running && window.wakepath.running.drawn > 0"))
        self.assertEqual(browser.faults(), [])

    def test_links_lead_from_page_to_page(self):
        self.open("plain", "processes")
        browser = self.browser
        browser.evaluate("document.querySelector('main > section:not([hidden]) tbody tr:nth-child(2) a').click()")
        self.assertTrue(browser.wait("window.wakepath.flame && window.wakepath.flame.gathered === 'all of [sh]'"))
        self.assertIn("page=flame", browser.evaluate("location.hash"))
        browser.evaluate("document.querySelectorAll('nav.tabs a')[3].click()")
        self.assertTrue(browser.wait("window.wakepath.running && window.wakepath.running.drawn > 0"))
        box = browser.evaluate("(function () { var r = document.querySelector('main > section:not([hidden]) canvas')"
                               ".getBoundingClientRect(); return [r.left, r.top]; })()")
        browser.click(box[0] + 20, box[1] + browser.evaluate("window.wakepath.running.rowOf[0].top") + 11)
        self.assertTrue(browser.wait("window.wakepath.flame.gathered === 'all of [make]'"))
        browser.evaluate("window.wakepath.flame.zoomTo(3)")
        self.assertRegex(browser.evaluate("location.hash"), "page=flame.*node=")
        self.assertEqual(browser.faults(), [])

    def test_any_two_sides_in_one_file(self):
        store, file = f"{self.folder}/sides", f"{self.folder}/compare.html"
        for kind, release in (("service", "v1"), ("plain", "v2"), ("service-slower", "v3")):
            subprocess.run([SAMPLE, kind, store, release], check=True)
        done = subprocess.run([f"{BIN}/wakepath-reporter", "check", "--store", store, "--format", "html", "v1", "v3"],
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        with open(file, "wb") as out:
            out.write(done.stdout)
        browser = self.browser
        self.assertTrue(browser.open("file://" + file))
        self.assertEqual(browser.evaluate("document.querySelector('main > section:not([hidden]) h1').textContent"), "v3 against v1")
        self.assertIn("longer", browser.evaluate("document.querySelector('main > section:not([hidden]) .findings').textContent"))
        self.assertTrue(browser.wait("window.wakepath.flame.drawn > 3"))
        self.assertTrue(browser.evaluate("window.wakepath.flame.differs"))
        browser.evaluate("location.hash = '#page=flame'")
        self.assertTrue(browser.wait("window.wakepath.flame.differs === false && window.wakepath.flame.drawn > 3"))
        browser.evaluate("window.wakepath.flame.zoomTo(2)")
        self.assertRegex(browser.evaluate("location.hash"), "page=flame.*node=")
        self.assertEqual(browser.faults(), [])

    def test_a_busy_window_fits_into_the_file_of_a_comparison(self):
        """What the pages of a site carry of a window is the most that this one does, too."""
        store = f"{self.folder}/busy"
        for release in ("v1", "v2"):
            subprocess.run([SAMPLE, "large", store, release], check=True)
        done = subprocess.run([f"{BIN}/wakepath-reporter", "check", "--store", store, "--format", "html", "v1", "v2"],
                              capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 2), done.stderr)
        window = done.stdout.split(b'wakepath.data("trace"', 1)[1].split(b"</script>", 1)[0]
        self.assertGreater(len(window), 1200000)
        self.assertLessEqual(len(window), 1600000)
        self.assertIn(b"pieces of this window did not fit", done.stdout)

    def test_the_policy_runs_no_script_but_ours(self):
        self.open("plain", "overview")
        self.browser.evaluate("var s = document.createElement('script'); s.textContent = 'window.ran = 1';"
                              "document.body.appendChild(s); document.body.insertAdjacentHTML('beforeend',"
                              "'<img src=x onerror=\"window.ran = 1\">')")
        self.assertTrue(self.browser.wait("1"))
        self.assertIsNone(self.browser.evaluate("window.ran"))
        self.assertTrue(any("Content Security Policy" in fault for fault in self.browser.faults()))

    def test_all_of_it_stands_there_without_scripts(self):
        text = self.text("plain").split("<main", 1)[1].split("</main>")[0]
        self.assertNotIn("<script", text)
        for word in ("make spends 46 % of its time", "c_parser_expression", "no waking was recorded for it", "kworker/0:1"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
