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

const unsupported = Symbol("elements that cannot be compared in the form in which the reader printed them");

// half returns the value of a float of two bytes.
function half(h) {
  const sign = h >> 15 ? -1 : 1, exp = h >> 10 & 31, mant = h & 1023;
  return exp === 31 ? (mant ? NaN : sign * Infinity) : sign * (exp ? (1024 + mant) * 2 ** (exp - 25) : mant * 2 ** -24);
}

// npyRight tells whether a .npy contains the elements, in either byte order, or as numbers of another type.
function npyRight(npy, c) {
  const [size, at] = npy[6] === 1 ? [npy.readUInt16LE(8), 10] : [npy.readUInt32LE(8), 12];
  const head = npy.toString("latin1", at, at + size), data = npy.subarray(at + size), want = c.dtype;
  const shape = head.match(/'shape': \(([^)]*)\)/)[1].split(",").filter((s) => s.trim()).map(Number);
  const descr = head.match(/'descr': ('[^']*'|\[.*\])/)[1].replace(/^'|'$/g, "");
  const read = { i1: "readInt8", u1: "readUInt8", b1: "readUInt8", i2: "readInt16", u2: "readUInt16", i4: "readInt32", u4: "readUInt32",
    i8: "readBigInt64", u8: "readBigUInt64", f2: "readUInt16", f4: "readFloat", f8: "readDouble" }[descr.slice(1)];
  const unnamed = !want && c.area === "hdf5" && !(read && c.numbers); // for example a compound
  if (String(unnamed ? shape.slice(0, c.shape.length) : shape) !== String(c.shape) || head.includes("'fortran_order': True") && shape.length > 1)
    throw new Error(`shape: got ${shape}, want ${c.shape} in C order`);
  if (unnamed && !bytesRight(data, c)) {
    if (!c.little) throw unsupported;
    return sum(data) === c.little;
  }
  if (unnamed || descr === want || !want && c.area !== "hdf5") return bytesRight(data, c);
  if (want && descr.slice(1) === want.slice(1)) {
    const item = descr[1] === "U" ? 4 : parseInt(descr.slice(2)) / (descr[1] === "c" ? 2 : 1);
    return bytesRight(Buffer.from(data)[`swap${8 * item}`](), c);
  }
  if (!read) throw new Error(`dtype: got ${descr}, want ${want}`);
  const item = Number(descr.slice(2)), name = item === 1 ? read : read + (descr[0] === ">" ? "BE" : "LE");
  const number = (i) => descr.endsWith("f2") ? half(data[name](i)) : data[name](i);
  return valuesRight(Array.from({ length: data.length / item }, (_, i) => number(i * item)), c);
}

const bytesRight = (b, c) => b.length === c.bytes && (!c.decoded || sum(b) === c.decoded);

function valuesRight(got, c) {
  if (!c.decoded) return got.length === c.shape.reduce((a, b) => a * b, 1);
  if (!c.numbers && (c.dtype || c.area === "hdf5")) throw unsupported;
  return !!c.numbers && got.length === c.numbers.length && got.every((x, i) => same(x, c.numbers[i], c.single));
}

function same(a, b, single) {
  if (typeof b === "string") return String(a) === b && (typeof a !== "number" || !Number.isInteger(a));
  if (typeof a === "string" || a === null || typeof a === "object") return false;
  return single ? Math.fround(Number(a)) === Math.fround(b) : Number(a) === b;
}

function verdict(c, command) {
  const line = command.replaceAll("{path}", () => quote(join(here, c.path))).replaceAll("{object}", () => quote(c.object ?? ""));
  const p = spawnSync("/bin/sh", ["-c", line], { maxBuffer: LIMIT, timeout: MILLISECONDS, killSignal: "SIGKILL", stdio: ["ignore", "pipe", "ignore"] });
  if (p.error?.code === "ETIMEDOUT") return "hang";
  if (p.error?.code === "ENOBUFS") return "wrong: more than 64 MiB of output";
  if (p.status === 77) return "skipped";
  if (p.signal || p.status >= 128) return "crash";
  if (c.must === "refuse" || p.status !== 0) return (c.must === "refuse") === (p.status !== 0) ? "pass" : p.status ? "refused" : "wrongly accepted";
  try {
    const right = p.stdout.subarray(1, 6).toString() === "NUMPY" ? npyRight(p.stdout, c) : jsonRight(p.stdout.toString(), c);
    return right ? "pass" : "wrong";
  } catch (e) { return e === unsupported ? "skipped" : "wrong: " + e.message; }
}

// jsonRight tells whether JSON contains the elements, as base64 or as values.
function jsonRight(text, c) {
  if (c.numbers?.some((x) => typeof x === "string")) // integers that a number of JavaScript does not hold
    text = text.replace(/(?<=[[,:\s]|^)-?[0-9]{16,}(?=[\],}\s]|$)/g, (x) => Number.isSafeInteger(Number(x)) ? x : `"${x}"`);
  let got = JSON.parse(text);
  if (got !== null && typeof got === "object" && !Array.isArray(got)) {
    if (typeof got.base64 === "string") return bytesRight(Buffer.from(got.base64, "base64"), c);
    if (got.values === undefined) throw new Error("the output is an object without base64 and values");
    got = got.values;
  }
  return valuesRight(got === null ? [] : [got].flat(Infinity), c);
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
