#!/usr/bin/env ruby
# SPDX-License-Identifier: Apache-2.0
# Garbage is collected again and again while much is kept.
KEPT = Array.new(600_000) { |number| [number] }
40.times { GC.start }
puts KEPT.size
