#!/usr/bin/env ruby
# SPDX-License-Identifier: Apache-2.0
# Two connections for eight workers.
POOL = SizedQueue.new(2)
2.times { |n| POOL << n }

def query
  connection = POOL.pop
  sleep 0.03
ensure
  POOL << connection
end

Array.new(8) { Thread.new { 10.times { query } } }.each(&:join)
