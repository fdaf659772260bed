// SPDX-License-Identifier: Apache-2.0
// A list of orders, and a request by HTTP for each of its rows.
const { spawn } = require("child_process");
const http = require("http");

const PORT = 7397;

function serve() {
    http.createServer((request, response) => setTimeout(() => response.end("row"), 8)).listen(PORT, "127.0.0.1", () => process.send("up"));
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function loadRow(id) {
    return new Promise((resolve, reject) => {
        http.get({ host: "127.0.0.1", port: PORT, path: `/rows/${id}`, agent }, (response) => {
            response.resume();
            response.on("end", resolve);
        }).on("error", reject);
    });
}

async function listOrders() {
    for (let id = 0; id < 150; id++)
        await loadRow(id);
}

if (process.argv[2] === "serve") {
    serve();
} else {
    const server = spawn(process.execPath, [__filename, "serve"], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    server.on("message", async () => {
        await listOrders();
        agent.destroy();
        server.kill();
    });
}
