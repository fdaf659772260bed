// SPDX-License-Identifier: Apache-2.0
// A poller asks a server every 200 ms over one connection and has its answer after 5 ms: its time is its own timer's.
const http = require('http'), { fork } = require('child_process');

if (process.argv[2] === 'feed') {
    process.title = 'feed';
    http.createServer((request, response) => setTimeout(() => response.end('news'), 5))
        .listen(0, '127.0.0.1', function () { process.send(this.address().port); });
} else {
    const feed = fork(__filename, ['feed']);
    feed.once('message', port => {
        let asked = 0;
        const timer = setInterval(() => http.get({ port, host: '127.0.0.1' }, response => {
            response.resume();
            response.on('end', () => {
                if (++asked < 6)
                    return;
                clearInterval(timer);
                feed.kill();
            });
        }), 200);
    });
}
