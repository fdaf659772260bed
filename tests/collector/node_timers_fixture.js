// SPDX-License-Identifier: Apache-2.0
// Waits for timers in many ways: node_timers_fixture.js SECONDS FILE. A line of FILE for each timer that was waited for: thread, when
// what waited went on, the functions that waited [function, line], innermost first.
'use strict';
const fs = require('fs');
const { setTimeout: sleep } = require('timers/promises');
const promisified = require('util').promisify(setTimeout);
const rows = [], ends = Date.now() + 1000 * Number(process.argv[2]);

// What went on behind the first sleep, which is the place that it went on at.
function told(...functions) {
  rows.push([process.pid, Number(process.hrtime.bigint()), functions]);
}

function random(most) {
  return 1 + Math.floor(Math.random() * most);
}

async function readPage(from) {
  await sleep(random(40));
  told('readPage', ...from);
}

async function sendMail(from) {
  await promisified(random(40));
  told('sendMail', ...from);
}

async function takeTurn(from) {
  await new Promise((resolve) => setTimeout(resolve, random(40)));
  told('takeTurn', ...from);
}

async function* ticks() {
  for (let i = 0; i < 3; i++) {
    await sleep(random(20));
    told('ticks', 'serveAll');
    yield i;
  }
}

async function serveAll() {
  while (Date.now() < ends) {
    await readPage(['serveAll']);
    await Promise.all([sendMail(['serveAll']), null]);
    for await (const tick of ticks()) void tick;
    await takeTurn(['serveAll']).finally(() => {});
  }
}

async function serveOne() {
  for (let junk = []; Date.now() < ends; junk = Array.from({ length: 20000 }, (_, i) => ({ i }))) {
    await takeTurn(['serveOne']);
    await Promise.race([readPage(['serveOne'])]);
    void junk;
  }
}

function again() {
  told('again');
  if (Date.now() < ends) setTimeout(again, random(50));
}

// Is put off again and again, and never comes.
const idle = setTimeout(() => told('idle'), 2000);
const beat = setInterval(function beats() {
  told('beats');
  idle.refresh();
  if (Date.now() < ends) return;
  clearInterval(beat);
  clearTimeout(idle);
}, 35);

again();
Promise.all([serveAll(), serveOne()]).then(() => {
  fs.writeFileSync(process.argv[3], rows.map((row) => JSON.stringify(row) + '\n').join(''));
});
