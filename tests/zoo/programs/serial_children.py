#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands run one after the other."""
import subprocess

for _ in range(5):
    subprocess.run(["sleep", "0.4"], check=True)
