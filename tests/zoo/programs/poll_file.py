#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file is looked for again and again."""
import os
import threading
import time


def make():
    time.sleep(1.8)
    with open("ready", "w", encoding="ascii"):
        pass


if os.path.exists("ready"):
    os.unlink("ready")
threading.Thread(target=make).start()
while not os.path.exists("ready"):
    time.sleep(0.01)
