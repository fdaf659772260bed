#!/usr/bin/env ruby
# SPDX-License-Identifier: Apache-2.0
# Four threads write one journal under a mutex, and make it durable in it.
JOURNAL_LOCK = Mutex.new

def append_entry(file)
  JOURNAL_LOCK.synchronize do
    file.write("x" * 4096)
    file.fsync
    sleep 0.01
  end
end

File.open("journal", "w") do |file|
  Array.new(4) { Thread.new { 30.times { append_entry(file) } } }.each(&:join)
end
