// SPDX-License-Identifier: Apache-2.0
// One cart after the other is asked of redis.
'use strict';
const { spawn } = require('child_process');
const net = require('net');

const PORT = 7391;
const server = spawn('redis-server', ['--port', String(PORT), '--save', '', '--bind', '127.0.0.1'], { stdio: 'ignore' });

function open(callback) {
  const socket = net.connect(PORT, '127.0.0.1', () => callback(socket));
  socket.on('error', () => setTimeout(open, 50, callback));
}

open((socket) => {
  function loadCart(left) {
    if (!left) {
      socket.end();
      server.kill();
      return;
    }
    socket.once('data', () => loadCart(left - 1));
    socket.write(`EVAL "local s = 0 for i = 1, 20000 do s = s + i end return s" 0\r\n`);
  }
  socket.setNoDelay(true);
  loadCart(3000);
});
