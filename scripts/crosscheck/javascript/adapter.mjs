// The JavaScript peers: an adapter of crosscheck. The first argument is the name of the peer.
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const peer = process.argv[2];
console.log = console.warn = console.error; // a library must not write between the answers

const alone = {
  jsfive: `node --input-type=module -e 'import {readFileSync} from "fs"; import {File} from "jsfive"; console.log(new File(new Uint8Array(readFileSync({in})).buffer, "f").get({object}).value)'`,
  h5wasm: `node --input-type=module -e 'import h5wasm from "h5wasm/node"; await h5wasm.ready; console.log(new h5wasm.File({in}, "r").get({object}).value)'`,
};

/** The interface of the library cannot express the case. */
class Skip extends Error {}

/** Converts numbers or strings to stored elements of a dtype in NumPy's notation. */
function stored(values, dtype, item) {
  const kind = dtype[1], little = dtype[0] !== '>';
  if (!'iufbS'.includes(kind)) throw new Skip();
  const flat = [];
  const flatten = (v) => (Array.isArray(v) || (ArrayBuffer.isView(v) && !(v instanceof DataView)) ? Array.prototype.forEach.call(v, flatten) : flat.push(v));
  flatten(values);
  const b = new DataView(new ArrayBuffer(flat.length * item));
  flat.forEach((v, i) => {
    const at = i * item;
    if (kind === 'S') {
      if (/[^\x00-\x7f]/.test(String(v))) throw new Skip(); // no character set decodes these bytes
      new Uint8Array(b.buffer, at, item).set(new TextEncoder().encode(String(v)).subarray(0, item));
    } else if (kind === 'f') {
      if (item === 4) b.setFloat32(at, Number(v), little);
      else b.setFloat64(at, Number(v), little);
    } else {
      let n = BigInt(v);
      for (let k = 0; k < item; k++, n >>= 8n) b.setUint8(little ? at + k : at + item - 1 - k, Number(n & 255n));
    }
  });
  return new Uint8Array(b.buffer);
}

/** Converts numbers to float64, for dtypes that JavaScript cannot store. */
const floats = (values) => new Uint8Array(Float64Array.from(Array.from(values).flat(Infinity), Number).buffer);

async function library() {
  if (peer === 'jsfive') {
    const { File } = await import('jsfive');
    const get = (path, object) => new File(new Uint8Array(readFileSync(path)).buffer, 'vector').get(object);
    return {
      read: (path, object) => get(path, object).value,
      attribute: (path, object, name) => get(path, object).attrs[name],
    };
  }
  const h5wasm = (await import('h5wasm/node')).default;
  await h5wasm.ready;
  const using = (path, mode, work) => {
    const f = new h5wasm.File(path, mode);
    if (f.file_id < 0n) throw new Error('the file does not open');
    try {
      return work(f);
    } finally {
      f.close();
    }
  };
  const found = (f, object) => {
    const o = f.get(object);
    if (o === null || o === undefined) throw new Error(`no object ${object}`);
    return o;
  };
  return {
    read: (path, object) => using(path, 'r', (f) => found(f, object).value),
    attribute: (path, object, name) => using(path, 'r', (f) => found(f, object).attrs[name].value),
    write: (out, object, dtype, shape, data) =>
      using(out, 'w', (f) => {
        const types = { i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, i8: BigInt64Array, u8: BigUint64Array, f4: Float32Array, f8: Float64Array };
        const type = types[dtype.slice(1)];
        if (!type || dtype[0] === '>' || object.includes('@') || object.lastIndexOf('/') > 0) return false;
        f.create_dataset({ name: object.slice(1), data: new type(new Uint8Array(data).buffer), shape, dtype: (dtype[0] === '|' ? '<' : dtype[0]) + { i1: 'b', u1: 'B', i2: 'h', u2: 'H', i4: 'i', u4: 'I', i8: 'q', u8: 'Q', f4: 'f', f8: 'd' }[dtype.slice(1)] });
        return true;
      }),
  };
}

const lib = await library();
const version = JSON.parse(readFileSync(new URL(`node_modules/${peer}/package.json`, import.meta.url))).version;
const answer = (...fields) => process.stdout.write(fields.map((s) => String(s).replace(/[\t\n\r]/g, ' ')).join('\t') + '\n');
process.stdout.write(`hyperslab.crosscheck.adapter/1\t${peer}\t${version}\t${alone[peer]}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, input, out, area, path, dtype, item, shape] = line.split('\t');
  try {
    if (area !== 'hdf5' || (verb === 'write' && !lib.write)) {
      answer('skip');
    } else if (verb === 'write') {
      const dims = shape === '' ? [] : shape.split(',').map(Number);
      answer(lib.write(out, path, dtype, dims, readFileSync(input)) ? 'ok' : 'skip');
    } else {
      const [object, attribute] = path.split('@');
      const value = attribute ? lib.attribute(input, object, attribute) : lib.read(input, object);
      if (value === undefined) throw new Error('no value');
      if (dtype === '') {
        answer('skip'); // no dtype to compare with
      } else if (value === null || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string' || typeof value === 'boolean') {
        writeFileSync(out, value === null ? '' : stored([value], dtype, Number(item)));
        answer('ok');
      } else if (dtype.slice(1) === 'f2') {
        writeFileSync(out, floats(value));
        answer('ok', 'float64');
      } else {
        writeFileSync(out, stored(value, dtype, Number(item)));
        answer('ok');
      }
    }
  } catch (e) {
    if (e instanceof Skip) answer('skip');
    else answer('refused', `${e?.name ?? 'error'}: ${e?.message ?? e}`);
  }
}
