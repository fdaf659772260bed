#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each kind of page under axe-core (Deque; the rules of WCAG 2.1 A and AA, and its best practices), in light colours, as wide as a phone, and
in dark colours by the rules of colours: nothing serious or critical may be said. axe_test.py BIN_DIR SAMPLE_TOOL CACHE_DIR

axe-core comes from npm's registry, of one version with one digest, and is kept in CACHE_DIR. Without it the test is skipped, which ctest
says (77); browser_test.py has a smaller check of our own that needs nothing."""
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

from browser import Browser

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import npm_package

BIN, SAMPLE, CACHE = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
VERSION = "4.10.3"
SHA256 = "0f2b4d7dcdf7d1219df8d1959ad68e565f51d14c3f0d88bb71cd59abeb956292"  # of the package's archive
PAGES = {"plain": ("index", "v1/index", "v1/main/index", "v1/main/flame", "v1/main/behind", "v1/main/modules", "v1/main/chronology", "v1/main/running", "v1/main/exemplars",
                   "v1/main/exemplar-1", "v1/main/exemplar-rows-1", "v1/main/waits", "v1/main/processes", "v1/main/functions", "v1/main/functions-1",
                   "v1/main/io", "v1/main/unexplained", "v1/main/about"),
         "service": ("index", "v2/main/index", "v2/main/compare", "v2/main/requests"), "fleet": ("v1/main/hosts", "v1/main/flame"), "shards": ("v1/main/behind",),
         "hostile": ("v1/main/index", "v1/main/functions", "v1/main/exemplars")}
COLOURS = ("color-contrast", "link-in-text-block")  # what can be another thing where only colours are


def fetch():
    """The text of axe.min.js, or what kept it from being had."""
    try:
        path = npm_package.archive("axe-core", VERSION, SHA256, CACHE)
    except npm_package.Missing as why:
        return None, str(why)
    with tarfile.open(path) as tar:
        return tar.extractfile("package/axe.min.js").read().decode(), None


class Axe(unittest.TestCase):
    script = None

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="wp-axe-")
        for kind, releases in (("plain", ("v1",)), ("service", ("v1", "v2")), ("fleet", ("v1",)), ("shards", ("v1",)), ("hostile", ("v1",))):
            for release in releases:
                name = "service-slower" if (kind, release) == ("service", "v2") else kind
                subprocess.run([SAMPLE, name, f"{cls.holder.name}/store-{kind}", release], check=True)
            subprocess.run([f"{BIN}/wakepath-reporter", "--store", f"{cls.holder.name}/store-{kind}", "--out", f"{cls.holder.name}/{kind}",
                            "--quiet"], check=True)
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.holder.cleanup()

    def violations(self, address, rules=()):
        self.browser.open(address)
        self.browser.evaluate(self.script + ";1")
        self.browser.evaluate("axe.run(document, " + json.dumps({"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}) + ").then(function (found) { window.said = found; },"
                              "function (error) { window.said = {violations: [{impact: 'critical', id: String(error), nodes: []}]}; }); 1")
        self.assertTrue(self.browser.wait("window.said && 1"), address)
        return json.loads(self.browser.evaluate(
            "JSON.stringify(window.said.violations.map(function (v) { return [v.impact, v.id, v.nodes.slice(0, 3).map(function (n) {"
            "return n.html.slice(0, 160); })]; }))"))

    def look(self, dark, width, rules=(), most=None):
        """`most`: so many pages of a kind, without WP_LONG (tests/more.sh long)."""
        most = None if os.environ.get("WP_LONG") else most
        self.browser.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.browser.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600})
        bad, looked = [], 0
        for kind, names in PAGES.items():
            for page in names[:most]:
                looked += 1
                bad += [(kind, page, *one) for one in self.violations(f"file://{self.holder.name}/{kind}/{page}.html", rules)
                        if one[0] in ("serious", "critical")]
        self.assertEqual(bad, [])
        self.assertGreaterEqual(looked, 5)

    def test_light(self):
        self.look(False, 1200)

    def test_dark(self):
        self.look(True, 1200, COLOURS, 4)

    def test_on_a_phone(self):
        self.look(False, 400, most=4)

    def test_it_would_say_so(self):
        """A page with a fault of each sort: else silence would prove nothing."""
        path = self.holder.name + "/bad.html"
        with open(path, "w", encoding="utf-8") as file:
            file.write("<!doctype html><html><head><title>x</title></head><body data-ready='page'><img src='data:,'><button></button>"
                       "<p style='color:#ccc;background:#fff'>pale</p></body></html>")
        for rules, wanted in (((), {"html-has-lang", "image-alt", "button-name", "color-contrast"}), (COLOURS, {"color-contrast"})):
            said = {one[1] for one in self.violations("file://" + path, rules) if one[0] in ("serious", "critical")}
            self.assertLessEqual(wanted, said)


if __name__ == "__main__":
    Axe.script, why = fetch()
    if why:
        print(f"SKIPPED: {why}. The pages were NOT looked at by it.", file=sys.stderr)
        sys.exit(77)
    unittest.main(verbosity=2)
