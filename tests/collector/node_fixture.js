// SPDX-License-Identifier: Apache-2.0
// Sleeps in many ways, and says where: node_fixture.js SECONDS FILE. A line of FILE for each sleep: thread, when it
// began and ended, and the frames [function, file, line], innermost first, as V8 itself has them. JSON.parse is C++, so it
// is among the native ones.
'use strict';
const fs = require('fs');
const cell = new Int32Array(new SharedArrayBuffer(4));
const asynchronous = new Set(['main', 'later', 'waits', 'fails', 'deep', 'produce', 'rest']);
const rows = [], ends = Date.now() + 1000 * Number(process.argv[2]);
Error.stackTraceLimit = 120;
Error.prepareStackTrace = (error, sites) => sites;

// Those of Error.stack; in the place of Node's own functions that called the microtask stands the task of those who await it. A
// stack has at most 16 of these.
function frames() {
  const sites = new Error().stack.slice(1).filter((site) => site.getFileName() || !['parse', null].includes(site.getFunctionName()));
  const called = sites.filter((site) => !site.isAsync());
  const awaiting = sites.filter((site) => site.isAsync() && !site.getPromiseIndex?.call(site) && site.getFileName());
  const outer = [];
  while (called.at(-1).getFileName()?.startsWith('node:')) outer.unshift(called.pop());
  const own = awaiting.filter((site) => !site.getFileName().startsWith('node:'));
  const last = own.at(-1) || (asynchronous.has(called.at(-1).getFunctionName()) && called.at(-1));
  const rows = (all) => all.map((site) => [name(site), site.getFileName() || '', site.getLineNumber() || 0]);
  const task = last ? [[`task ${name(last)}`, last.getFileName(), beginning(last.getFunctionName())]] : [];
  return [...rows(called), ...rows(awaiting.slice(0, 16)), ...(task.length ? task : rows(outer))];
}

// The line of an async function.
function beginning(wanted) {
  const text = fs.readFileSync(__filename, 'utf8').split('\n');
  return 1 + text.findIndex((line) => line.includes('async ') && line.match(new RegExp(` ${wanted}( =|\\()`)));
}

function name(site) {
  return site.getFunctionName() || '<anonymous>';
}

function now() {
  return Number(process.hrtime.bigint());
}

function pause(wanted) {
  if (!wanted) return 0;
  const before = now(), expected = frames(); Atomics.wait(cell, 0, 0, 2);
  rows.push([process.pid, before, now(), expected]);
  return 1;
}

// Many variables in its scope: the name of a function lies behind them.
function scoped(wanted) {
  let a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10;
  const within = () => a + b + c + d + e + f + g + h + i + j + pause(wanted);
  return within();
}

const recursion = (depth, wanted) => (depth ? recursion(depth - 1, wanted) : pause(wanted));

class Till {
  #sum = 0;
  constructor(wanted) {
    this.#sum += pause(wanted);
  }
  settle(wanted) {
    return this.#add(wanted);
  }
  #add(wanted) {
    return (this.#sum += pause(wanted));
  }
  get sum() {
    return pause(true);
  }
  static open(wanted) {
    return new Till(wanted).settle(wanted);
  }
}

function* generator(wanted) {
  yield pause(wanted);
  yield* [pause(wanted)];
}

async function later(wanted) {
  pause(wanted);
  await null;
  pause(wanted);
  await tick(wanted);
  return pause(wanted);
}

// What is small is inlined where it is hot.
function inner(x, wanted) {
  return x + pause(wanted);
}
function middle(x, wanted) {
  return inner(x, wanted) + 1;
}
function hot(n, wanted) {
  let sum = 0;
  for (let i = 0; i < n; i++)
    sum += middle(i,
      wanted);
  return sum;
}

// Where it does not matter Node's own functions are not made hot.
const tick = (wanted) => (wanted ? new Promise((resolve) => setImmediate(resolve)) : null);

async function fails(wanted) {
  await null;
  try {
    pause(wanted);
    throw new Error();
  } finally {
    pause(wanted);
  }
}

async function deep(depth, wanted) {
  if (!depth) await tick(wanted);
  const sum = depth ? await deep(depth - 1, wanted) : pause(wanted);
  return sum + pause(wanted && depth % 7 === 0);
}

async function* produce(wanted) {
  await null;
  yield pause(wanted);
  try {
    yield await later(wanted);
  } finally {
    await null;
    pause(wanted);
  }
}

class Shop {
  async sell(wanted) {
    for await (const item of produce(wanted)) pause(wanted);
    return wanted;
  }
  static async close(wanted) {
    try {
      await fails(wanted);
    } catch {
      pause(wanted);
    }
  }
}

async function waits(wanted) {
  await Promise.all([new Shop().sell(wanted), later(false)]);
  await Promise.all([1, deep(3, wanted)]).then((all) => pause(wanted) + all.length);
  await Promise.allSettled([fails(wanted), later(wanted)]);
  await new Promise((resolve) => deep(0, wanted).then(resolve));
  await later(wanted).finally(() => pause(wanted));
  await fails(wanted).catch(() => pause(wanted)).then(async () => {
    await tick(wanted);
    pause(wanted);
  });
  await Shop.close(wanted);
  await { then(resolve) { later(wanted).then(() => resolve(pause(wanted))); } };
  const rest = async () => (await later(wanted)) + pause(wanted);
  return rest();
}

function synchronous() {
  recursion(20, true);
  scoped(true);
  Till.open(true);
  void new Till(false).sum;
  for (const value of generator(true)) void value;
  [3, 1].forEach(function each() { pause(true); });
  [1, 2].map((x) => pause(x)).sort((a, b) => pause(true));
  'ab'.replace(/./, () => pause(true));
  JSON.parse('[1]', (key, value) => (pause(!key), value));
  new Proxy({}, { get: () => pause(true) }).any;
  Reflect.apply(pause, null, [true]);
  Buffer.from([1, 2]).forEach(() => pause(true));
  try { null.any; } catch { pause(true); } finally { pause(true); }
  hot(1, true);
}

// Until what it calls is optimised. It has no sleeps itself: while it runs its code is replaced.
function warm() {
  for (let i = 0; i < 3000; i++) {
    hot(20, false);
    Till.open(false);
    recursion(10, false);
  }
  return Promise.all(Array.from({ length: 300 }, () => waits(false)));
}

async function main() {
  for (let round = 0; Date.now() < ends; round++) {
    synchronous();
    await later(true);
    await waits(true);
    await deep(20, true);
    void waits(true);
    await Promise.resolve().then(() => pause(true));
    await new Promise((resolve) => setTimeout(() => resolve(pause(true)), 1));
    await new Promise((resolve) => process.nextTick(() => resolve(pause(true))));
    // Node's own function that calls back has no line when it is hot: its code is replaced while it runs.
    if (round < 10) await new Promise((resolve) => fs.stat('/', () => resolve(pause(true))));
    await warm();
  }
  fs.writeFileSync(process.argv[3], rows.map((row) => JSON.stringify(row) + '\n').join(''));
}

main();
