// SPDX-License-Identifier: Apache-2.0
// node check.js: manifests as a JSON array on standard input against the schemas of the API that npm's kubernetes-models carries;
// prints an array of what each one does wrong, "" for nothing.
import { readFileSync } from "node:fs";

const words = [];
for (const manifest of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    const kinds = await import("kubernetes-models/" + manifest.apiVersion);
    new kinds[manifest.kind](manifest).validate();
    words.push("");
  } catch (error) {
    words.push(String(error.message));
  }
}
console.log(JSON.stringify(words));
