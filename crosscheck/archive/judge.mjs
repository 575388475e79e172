// Judges a reader by the vectors of this archive: node judge.mjs 'reader {path} {object}' [AREA...]
//
// The reader prints the elements as JSON or .npy. Exit status 0 means that it read the file, 77 that
// it does not support it, any other that it refuses it. Needs only Node.js 18.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const MANIFEST = "{{manifest}}", LIMIT = 64 << 20, MILLISECONDS = 20000;
const here = dirname(fileURLToPath(import.meta.url));
const sum = (b) => createHash("sha256").update(b).digest("hex");
const quote = (s) => `'${s.replaceAll("'", "'\\''")}'`;
const fail = (text) => { console.error("judge: " + text); process.exit(2); };

// numbersOf returns the numbers of a .npy, or its bytes if they have the dtype of the case.
function numbersOf(npy, c) {
  const [size, at] = npy[6] === 1 ? [npy.readUInt16LE(8), 10] : [npy.readUInt32LE(8), 12];
  const head = npy.toString("latin1", at, at + size), data = npy.subarray(at + size);
  const shape = head.match(/'shape': \(([^)]*)\)/)[1].split(",").filter((s) => s.trim()).map(Number);
  const descr = head.match(/'descr': '([^']*)'/)[1];
  if (String(shape) !== String(c.shape) || head.includes("'fortran_order': True") && shape.length > 1)
    throw new Error(`shape: got ${shape}, want ${c.shape} in C order`);
  const read = { i1: "readInt8", u1: "readUInt8", b1: "readUInt8", i2: "readInt16", u2: "readUInt16", i4: "readInt32", u4: "readUInt32",
    i8: "readBigInt64", u8: "readBigUInt64", f4: "readFloat", f8: "readDouble" }[descr.slice(1)];
  if (descr === c.dtype || !read) return data;
  const item = Number(descr.slice(2)), name = item === 1 ? read : read + (descr[0] === ">" ? "BE" : "LE");
  return Array.from({ length: data.length / item }, (_, i) => data[name](i * item));
}

const same = (a, b) => typeof b === "string" ? String(a) === b && (typeof a !== "number" || !Number.isInteger(a)) : Number(a) === b && typeof a !== "string";

function verdict(c, command) {
  const line = command.replaceAll("{path}", () => quote(join(here, c.path))).replaceAll("{object}", () => quote(c.object ?? ""));
  const p = spawnSync("/bin/sh", ["-c", line], { maxBuffer: LIMIT, timeout: MILLISECONDS, killSignal: "SIGKILL", stdio: ["ignore", "pipe", "ignore"] });
  if (p.error?.code === "ETIMEDOUT") return "hang";
  if (p.error?.code === "ENOBUFS") return "wrong: more than 64 MiB of output";
  if (p.status === 77) return "skipped";
  if (p.signal || p.status >= 128) return "crash";
  if (c.must === "refuse" || p.status !== 0) return (c.must === "refuse") === (p.status !== 0) ? "pass" : p.status ? "refused" : "wrongly accepted";
  let got;
  try {
    got = p.stdout.subarray(1, 6).toString() === "NUMPY" ? numbersOf(p.stdout, c) : JSON.parse(p.stdout.toString());
  } catch (e) { return "wrong: " + e.message; }
  if (!Array.isArray(got) && !Buffer.isBuffer(got) && got !== null && typeof got === "object") got = Buffer.from(got.base64 ?? "", "base64");
  if (Buffer.isBuffer(got)) return got.length === c.bytes && (!c.decoded || sum(got) === c.decoded) ? "pass" : "wrong";
  got = [got].flat(Infinity);
  return c.numbers && got.length === c.numbers.length && got.every((x, i) => same(x, c.numbers[i])) ? "pass" : "wrong";
}

const text = readFileSync(join(here, "archive.json")), counts = {};
if (sum(text) !== MANIFEST) fail("archive.json has changed, or belongs to another version of the judge");
for (const c of JSON.parse(text).cases) {
  if (process.argv.length > 3 && !process.argv.slice(3).includes(c.area)) continue;
  for (const [name, digest] of Object.entries(c.files)) if (sum(readFileSync(join(here, name))) !== digest) fail(name + " has changed");
  const v = verdict(c, process.argv[2]), count = counts[c.area] ??= {}, word = v.replace(/:.*/s, "");
  count[word] = (count[word] ?? 0) + 1;
  if (v !== "pass" && v !== "skipped") { console.log(`${v}: ${c.id}  (${c.section})`); process.exitCode = 1; }
}
for (const [area, count] of Object.entries(counts)) console.log(area, Object.entries(count).sort().map(([v, n]) => `${n} ${v}`).join(", "));
