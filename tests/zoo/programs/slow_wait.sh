#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two jobs at once, of which one is slow.
sleep 0.2 &
sleep 1.8 &
wait
