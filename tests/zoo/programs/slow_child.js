// SPDX-License-Identifier: Apache-2.0
// One child after the other does what could be done at once.
'use strict';
const { execFileSync } = require('child_process');

function runHook() {
  execFileSync('sleep', ['0.4']);
}

for (let i = 0; i < 5; i++) runHook();
