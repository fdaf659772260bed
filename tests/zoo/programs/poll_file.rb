#!/usr/bin/env ruby
# SPDX-License-Identifier: Apache-2.0
# Asks again and again whether a file is there.
pid = spawn('sh', '-c', 'sleep 1.6; : >ready')

def wait_until_ready
  sleep 0.02 until File.exist?('ready')
end

wait_until_ready
Process.wait(pid)
