// SPDX-License-Identifier: Apache-2.0
// A server that asks stock for each request and works, in one event loop: loop_hops.py.
const fs = require('fs'), net = require('net');
const [at, stockAt, connections, truth] = process.argv.slice(2); // connections: as many letters
const [free, waiting] = [[], []];

function giveBack(connection) {
  waiting.length ? waiting.shift()(connection) : free.push(connection);
}

function take() {
  return free.length ? Promise.resolve(free.pop()) : new Promise(take => waiting.push(take));
}

async function askStock(line) {
  const connection = await take();
  await new Promise(answered => { connection.once('data', answered); connection.write(line); });
  giveBack(connection);
}

function priceOrder() {
  const began = process.hrtime.bigint();
  while (process.hrtime.bigint() - began < 3000000n);
  return process.hrtime.bigint() - began;
}

function connect(address, then) {
  const [host, port] = address.split(':');
  const connection = net.connect({ host, port: +port, noDelay: true }, () => then(connection));
}

function serve(client) {
  let own = 0n;
  client.setNoDelay(true);
  client.on('error', () => {});
  client.on('data', async line => {
    await askStock(line);
    const took = priceOrder();
    own += line.toString() === '0\n' ? took : 0n;
    client.write('ok\n');
  });
  client.on('end', () => {
    if (!own)
      return;
    fs.writeFileSync(truth + '.part', own.toString());
    fs.renameSync(truth + '.part', truth);
  });
}

for (const _ of connections)
  connect(stockAt, connection => {
    free.push(connection);
    if (free.length === connections.length)
      net.createServer(serve).listen(+at.split(':')[1], at.split(':')[0]);
  });
