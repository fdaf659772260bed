#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Steps that wait, one after the other.
for _ in 1 2 3 4 5; do
  sleep 0.4
done
