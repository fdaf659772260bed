#!/usr/bin/env ruby
# SPDX-License-Identifier: Apache-2.0
# Four threads compute, one at a time.
def sum_squares
  total = 0
  3_000_000.times { |number| total += number * number }
  total
end

Array.new(4) { Thread.new { sum_squares } }.each(&:join)
