#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A file is looked for again and again.
rm -f ready
(sleep 1.8 && touch ready) &
until [ -e ready ]; do
  sleep 0.1
done
wait
