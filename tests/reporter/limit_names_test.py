#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each limit that an aggregator may put into a report has a line on the page "About this data" that says what it means."""
import glob
import os
import re
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def sources(folder):
    for where, _, names in os.walk(os.path.join(TOP, folder)):
        for name in names:
            if name.endswith(".c"):
                with open(os.path.join(where, name), encoding="utf-8") as file:
                    yield name, file.read()


def given():
    found = set()
    for _, text in sources("aggregator"):
        for names in re.findall(r"\bnames\[WP_LIMITS\] = \{([^}]*)\}", text):
            found |= set(re.findall(r'"([^"]+)"', names))
        found |= set(re.findall(r'(?:wp_report_limit|tell_left_out)\([^;"]*"([^"]+)"', text))
    return found


class LimitNamesTest(unittest.TestCase):
    def test_each_has_its_meaning(self):
        rows = dict(sources("reporter"))["page_about.c"].split("*meaning(")[1].split("};")[0]
        self.assertEqual(set(re.findall(r'\{"([^"]+)",\s*"', rows)), given())

    def test_they_are_found(self):
        self.assertTrue({"depth", "budget", "memory", "lines", "overhead: no events"} <= given(), given())


if __name__ == "__main__":
    unittest.main()
