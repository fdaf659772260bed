#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each limit that an aggregator may put into a report has a line on the page "About this data" that says what it means."""
import os
import re
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def text(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def given():
    names = re.search(r"limit_names\[WP_LIMITS\] = \{([^}]*)\}", text("aggregator/aggregate.c"))[1]
    found = set(re.findall(r'"([^"]+)"', names))
    for name in os.listdir(os.path.join(TOP, "aggregator")):
        if name.endswith(".c"):
            found |= set(re.findall(r'(?:wp_report_limit|tell_left_out)\([^;"]*"([^"]+)"', text(f"aggregator/{name}")))
    return found


class LimitNamesTest(unittest.TestCase):
    def test_each_has_its_meaning(self):
        rows = text("reporter/page_about.c").split("*meaning(")[1].split("};")[0]
        self.assertEqual(set(re.findall(r'\{"([^"]+)", "', rows)), given())

    def test_they_are_found(self):
        self.assertTrue({"depth", "budget", "memory", "lines", "overhead: no events"} <= given(), given())


if __name__ == "__main__":
    unittest.main()
