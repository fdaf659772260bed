#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A line at a time comes from a child that pauses."""
import subprocess

with subprocess.Popen(["sh", "-c", "for i in 1 2 3 4 5 6; do sleep 0.3; echo $i; done"], stdout=subprocess.PIPE) as child:
    for line in child.stdout:
        len(line)
