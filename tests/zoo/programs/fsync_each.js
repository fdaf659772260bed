// SPDX-License-Identifier: Apache-2.0
// Each record is made durable by itself.
'use strict';
const fs = require('fs');

const journal = fs.openSync('orders.journal', 'w'), record = Buffer.alloc(4096);

function appendRecord() {
  fs.writeSync(journal, record);
  fs.fsyncSync(journal);
}

for (let i = 0; i < 4000; i++) appendRecord();
