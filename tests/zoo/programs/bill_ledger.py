#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A thread bills under a lock that another one holds most of the time; recorded by threads, as a service is."""
import threading
import time

ledger = threading.Lock()
is_over = threading.Event()


def audit_all():
    with ledger:
        time.sleep(0.06)


def bill():
    with ledger:
        pass


def auditor():
    while not is_over.is_set():
        audit_all()
        time.sleep(0.005)


def biller():
    for _ in range(20):
        bill()
        time.sleep(0.01)
    is_over.set()


threads = [threading.Thread(target=target) for target in (auditor, biller)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
