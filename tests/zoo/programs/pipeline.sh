#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The end of a pipeline waits for its beginning.
(for i in 1 2 3 4 5 6; do sleep 0.3 && echo "$i"; done) | sort -n >sorted
