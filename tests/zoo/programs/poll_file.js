// SPDX-License-Identifier: Apache-2.0
// Asks again and again whether a file is there.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');

spawn('sh', ['-c', 'sleep 1.6; : >ready']);
const timer = setInterval(() => {
  if (fs.existsSync('ready')) clearInterval(timer);
}, 20);
