#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each row is committed by itself."""
import sqlite3

db = sqlite3.connect("orders.db")
db.execute("create table orders (number integer, item text)")
db.commit()


def add_order(number):
    db.execute("insert into orders values (?, 'a thing')", (number,))
    db.commit()


for order in range(600):
    add_order(order)
