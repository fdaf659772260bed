#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is drawn can be read, and what it is linked with says the same: opens made-up sites in Chromium.
drawing_test.py BIN_DIR SAMPLE_TOOL"""
import sys
import tempfile
import unittest

import browser_test
from browser import Browser


class Drawing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="wp-drawing-test-")
        cls.sites = {kind: browser_test.make_site(cls.folder.name, kind) for kind in ("plain", "large", "fleet", "source", "shards")}
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    open = browser_test.Pages.open

    def test_a_wait_leads_to_what_it_is_made_of_on_whichever_host(self):
        browser = self.browser
        for kind in ("shards", "plain"):
            self.open(kind, "v1/main/waits.html")
            cells = browser.evaluate("Array.from(document.querySelectorAll('#waits td.k-duration a')).map(function (a) {"
                                     "return [a.href, Number(a.closest('td').dataset.v)]; })")
            boxes = browser.evaluate("Array.from(document.querySelectorAll('.graph a')).map(function (a) { return a.getAttribute('href'); })"
                                     ".filter(function (to) { return to.indexOf('process=') > 0; })")
            cells = [(to, ns) for to, ns in cells if "%20vda" not in to] # "io:read vda" is of the sample alone
            self.assertTrue(cells and boxes)
            self.assertEqual(kind == "shards", any("%40db-3" in to for to, _ in cells))
            for to, ns in cells:
                browser.open(to)
                self.assertTrue(browser.wait(f"window.wakepath.behind.isThere && window.wakepath.behind.total === {ns}"), to)
            for to in boxes:
                browser.open(f"{self.sites[kind]}/v1/main/" + to.split("/main/")[1])
                self.assertIn("all of [", browser.evaluate("document.querySelector('main').innerText"), to)
            self.assertEqual(browser.faults(), [])

    def test_a_host_has_the_same_time_behind_its_figure(self):
        browser = self.browser
        self.open("shards", "v1/main/hosts.html")
        cells = browser.evaluate("Array.from(document.querySelectorAll('#hosts td a')).filter(function (a) { return a.href.indexOf('behind.html#host=') > 0; })"
                                 ".map(function (a) { return [a.href, Number(a.closest('td').dataset.v)]; })")
        self.assertTrue(cells)
        for to, ns in cells:
            browser.open(to)
            self.assertTrue(browser.wait(f"window.wakepath.behind.total === {ns}"), to)
        self.assertEqual(browser.faults(), [])

    def test_labels_of_the_graph_lie_apart(self):
        for kind in ("plain", "shards", "fleet", "large", "source"):
            self.open(kind, "v1/main/waits.html")
            self.assertEqual(self.browser.evaluate("""(function () {
              function box(e) { var b = e.getBBox(); return [b.x + 1, b.y + 2, b.x + b.width - 1, b.y + b.height - 2]; }
              var found = [];
              document.querySelectorAll('.graph').forEach(function (graph) {
                var labels = Array.from(graph.querySelectorAll('.weight')), others = labels.concat(Array.from(graph.querySelectorAll('.box rect')));
                labels.forEach(function (label, i) {
                  var a = box(label);
                  others.slice(i + 1).forEach(function (other) {
                    var b = box(other);
                    if (a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]) found.push(label.textContent + ' on ' + other.parentNode.textContent);
                  });
                });
              });
              return found; })()"""), [], kind)

    def test_names_stand_over_the_links_and_moments_are_whole(self):
        """What is drawn, in its order: lines that cross a name come before it, and no moment is cut off at the edge."""
        self.open("plain", "v1/main/chronology.html")
        steps = self.browser.evaluate("""(function () {
          var proto = CanvasRenderingContext2D.prototype, text = proto.fillText, stroke = proto.stroke, steps = [];
          proto.fillText = function (what, x) { steps.push(['text', what, x + this.measureText(what).width]); return text.apply(this, arguments); };
          proto.stroke = function () { steps.push(['line']); return stroke.apply(this, arguments); };
          var view = window.wakepath.chronology, canvas = view.surface.canvas;
          view.draw(canvas.getContext('2d'), canvas.clientWidth, canvas.clientHeight, 0);
          var names = view.texts.map(function (t) { return t[0]; });
          view.axis.draw(canvas.getContext('2d'), view.colours, canvas.clientWidth, canvas.clientHeight);
          proto.fillText = text; proto.stroke = stroke;
          return {steps: steps, names: names, width: canvas.clientWidth}; })()""")
        lines = [i for i, step in enumerate(steps["steps"]) if step[0] == "line"]
        drawn = [step for step in steps["steps"] if step[0] == "text"]
        self.assertTrue(lines and steps["names"])
        self.assertFalse({step[1] for step in steps["steps"][:lines[-1]] if step[0] == "text"} & set(steps["names"]))
        self.assertTrue(all(step[2] <= steps["width"] for step in drawn if step[1].endswith("s")), drawn)

    def test_what_is_taller_than_a_page_goes_on_on_the_next(self):
        """All rows of a window of many threads are on paper, each once and whole, with the axis above them."""
        browser = self.browser
        self.open("plain", "v1/main/running.html")
        browser.evaluate("""(function () {
          var view = window.wakepath.running, data = view.data, one = data.thread_tid.length;
          ['host', 'comm', 'pid', 'base', 'tid'].forEach(function (key) { data['thread_' + key] = Array.from(data['thread_' + key]); });
          for (var i = 0; i < 200; i++) { // of the same process: 22 pixels a thread
            ['host', 'comm', 'pid', 'base'].forEach(function (key) { data['thread_' + key].push(data['thread_' + key][0]); });
            data.thread_tid.push(90000 + i);
            ['runs', 'sleeps', 'states'].forEach(function (key) { view[key].push(view[key][0]); });
          }
          view.layout();
          view.surface.setHeight(view.total);
          var text = CanvasRenderingContext2D.prototype.fillText;
          window.drawn = [];
          CanvasRenderingContext2D.prototype.fillText = function (what, x, y) {
            if (/^9\\d{4}$/.test(what)) window.drawn.push([what, y, this.canvas]);
            return text.apply(this, arguments);
          }; })()""")
        browser.evaluate("window.drawn.length = 0; window.dispatchEvent(new Event('beforeprint'));"
                         "window.wakepath.running.surface.paintNow()") # one that was asked for before may come after
        browser.call("Emulation.setEmulatedMedia", {"media": "print"})
        pages = browser.evaluate("""(function () {
          var pages = Array.from(document.querySelectorAll('.stage canvas'));
          return {count: pages.length, heights: pages.map(function (p) { return p.getBoundingClientRect().height; }),
            sizes: pages.map(function (p) { return p.height; }),
            rows: window.drawn.map(function (d) { return [d[0], d[1], pages.indexOf(d[2])]; }),
            blank: pages.map(function (p) { // pixels above which nothing is drawn any more
              var data = p.getContext('2d').getImageData(0, 0, 150, p.height).data, y = p.height - 1;
              for (; y > 0; y--) for (var x = 0; x < 150; x++) if (data[(y * 150 + x) * 4 + 3]) return y;
              return 0; })}; })()""")
        self.assertGreater(pages["count"], 3)
        self.assertLessEqual(max(pages["heights"]), 620)
        drawn = {(number, y, page) for number, y, page in pages["rows"]} # a page may be drawn anew meanwhile
        seen = {(number, page) for number, y, page in drawn if 24 + 11 <= y <= pages["blank"][page] + 1}
        self.assertEqual(sorted(number for number, _ in seen), [str(90000 + i) for i in range(200)])
        browser.evaluate("window.dispatchEvent(new Event('afterprint'))")
        browser.call("Emulation.setEmulatedMedia", {"media": ""})
        self.assertEqual(browser.evaluate("document.querySelectorAll('.stage canvas').length"), 1)
        self.assertEqual(browser.faults(), [])

    def test_a_category_can_be_read_on_its_colour(self):
        """By the formula of WCAG 2.1, light, dark by the system and dark by choice; the text is too small to count as large."""
        browser = self.browser
        self.open("plain", "v1/main/index.html")
        for system, chosen in (("light", None), ("dark", None), ("light", "dark"), ("dark", "light")):
            browser.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": system}]})
            pairs = browser.evaluate("""(function (chosen) {
              var root = document.documentElement, bar = document.querySelector('svg.bar'), found = [];
              if (chosen) root.dataset.theme = chosen; else delete root.dataset.theme;
              document.querySelectorAll('table .sw').forEach(function (swatch) {
                var key = swatch.className.replace(/.*\\bc-/, ''), place = document.createElementNS('http://www.w3.org/2000/svg', 'g');
                place.innerHTML = '<rect class="c-' + key + '"/><text class="on-' + key + '"></text>';
                bar.appendChild(place);
                found.push([key].concat(Array.from(place.children, function (e) { return getComputedStyle(e).fill.match(/\\d+/g).map(Number); })));
                place.remove();
              });
              return found; })(%s)""" % ("'%s'" % chosen if chosen else "null"))
            self.assertEqual(len(pairs), 14)
            for key, *colours in pairs:
                light = [sum(weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
                             for weight, part in zip((0.2126, 0.7152, 0.0722), (value / 255 for value in colour))) for colour in colours]
                self.assertGreaterEqual((max(light) + 0.05) / (min(light) + 0.05), 4.5, (system, chosen, key))
        browser.call("Emulation.setEmulatedMedia", {"features": []})
        browser.evaluate("delete document.documentElement.dataset.theme")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
