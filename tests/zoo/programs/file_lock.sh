#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A job waits for a file's lock that a process of somebody else's holds.
( (flock 9 && sleep 1.8) 9>state.lock & )
sleep 0.1
(flock 8) 8>state.lock
