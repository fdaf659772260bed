#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each record is made durable by itself."""
import os

with open("orders.journal", "wb") as journal:
    for _ in range(2000):
        journal.write(bytes(1 << 12))
        journal.flush()
        os.fsync(journal.fileno())
