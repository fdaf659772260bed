#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Garbage is collected again and again while much is kept."""
import gc

kept = [[number] for number in range(600_000)]
for _ in range(25):
    gc.collect()
