#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A named pipe is read that nobody writes to for long.
rm -f answers && mkfifo answers
(sleep 1.8 && echo yes >answers) &
read -r _ <answers
wait
