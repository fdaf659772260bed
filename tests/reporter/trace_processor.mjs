// SPDX-License-Identifier: Apache-2.0
// node trace_processor.mjs FOLDER TRACE SQL...: Perfetto's trace processor, built for the web (trace_processor.wasm and the glue of its worker),
// reads TRACE; the rows of each query are printed as a line of JSON. FOLDER is that of peers_test.py.
import fs from "node:fs";
import vm from "node:vm";
import { pathToFileURL } from "node:url";

const [folder, trace, ...queries] = process.argv.slice(2);
const wasm = fs.readFileSync(`${folder}/trace_processor.wasm`);

// What the worker of a page would have around it.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
Object.defineProperty(globalThis, "location", {value: {href: pathToFileURL(folder).href + "/"}, configurable: true});
globalThis.XMLHttpRequest = class {
    open() {}
    send() { this.response = wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length); }
};
WebAssembly.validate = () => false;  // the probe for memories of 64 bits: their build is not in the package
console.warn = console.log = line => console.error(line);
vm.runInThisContext(fs.readFileSync(`${folder}/engine_bundle.node.js`, "utf8"), {filename: "engine_bundle.node.js"});

const {EngineBase} = await import(pathToFileURL(`${folder}/engine.mjs`).href);
const {port1, port2} = new MessageChannel();
class Engine extends EngineBase {
    mode = "WASM";
    id = "test";
    rpcSendRequestBytes(data) { port2.postMessage(data); }
}
const engine = new Engine();
port2.onmessage = message => engine.onRpcResponseBytes(message.data);
globalThis.onmessage({data: port1});

await engine.parse(new Uint8Array(fs.readFileSync(trace)));
await engine.notifyEof();
for (const sql of queries) {
    const result = await engine.query(sql), columns = result.columns(), rows = [];
    for (const row = result.iter({}); row.valid(); row.next())
        rows.push(columns.map(column => row.get(column)));
    fs.writeSync(1, JSON.stringify(rows, (_, value) => typeof value === "bigint" ? Number(value) : value) + "\n");
}
process.exit(0);
