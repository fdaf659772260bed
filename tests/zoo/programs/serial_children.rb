#!/usr/bin/env ruby
# SPDX-License-Identifier: Apache-2.0
# One child after the other does what could be done at once.
def run_hook
  system('sleep', '0.4')
end

4.times { run_hook }
