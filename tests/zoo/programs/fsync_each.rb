#!/usr/bin/env ruby
# SPDX-License-Identifier: Apache-2.0
# Each record is made durable by itself.
def append_record(journal, record)
  journal.syswrite(record)
  journal.fsync
end

record = "\0" * 4096
File.open('orders.journal', 'wb') do |journal|
  4000.times { append_record(journal, record) }
end
