// Compares two servers with the routes of h5grove through H5GroveApi, the client of h5web: every
// object of a file, its attributes, values, selections and exports.
//
// Arguments: the address of the server, the address of h5grove, the name of the file.
// Output: JSON with the numbers of comparisons, of values that only the server can encode, and the
// differences.

import { isDeepStrictEqual } from 'node:util';

import { H5GroveProvider, useDataContext } from '@h5web/app';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';

const [server, grove, file] = process.argv.slice(2);

// client returns the stores of a provider, which call H5GroveApi.
function client(url) {
  let context;
  function Capture() {
    context = useDataContext();
    return null;
  }
  renderToString(createElement(H5GroveProvider, { url, filepath: file }, createElement(Capture)));
  return context;
}

// settled returns the result or the error of a store, which throws a promise until it has one.
async function settled(get) {
  for (;;) {
    try {
      return { value: await get() };
    } catch (error) {
      if (!(error instanceof Promise)) {
        return { error: error.message };
      }
      await error;
    }
  }
}

const text = (x) => JSON.stringify(x, (_, v) => (typeof v === 'bigint' ? `${v}n` : v instanceof Map ? [...v] : v));

const ours = client(server);
const theirs = client(grove);
const result = { compared: 0, paths: 0, more: [], differences: [] };

async function compare(name, ask) {
  const got = await settled(() => ask(ours));
  const want = await settled(() => ask(theirs));
  result.compared++;
  if (want.error !== undefined && got.error === undefined && /TypeError|UnicodeDecodeError|AttributeError/u.test(want.error)) {
    result.more.push(`${name}: ${want.error}`);
  } else if (want.error === undefined || got.error === undefined ? !isDeepStrictEqual(got, want) : false) {
    result.differences.push(`${name}: got ${text(got)}, want ${text(want)}`);
  }
  return got.value;
}

async function download(url) {
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(await response.text());
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  // A long double of NumPy has 6 bytes of padding, which contain anything.
  const header = new TextDecoder('latin1').decode(bytes.subarray(0, 128)).split('\n', 1)[0];
  if (header.includes("'<f16'") || header.includes("'<c32'")) {
    for (let i = header.length + 1; i < bytes.length; i += 16) {
      bytes.fill(0, i + 10, i + 16);
    }
  }
  return bytes;
}

const paths = await compare('paths', (c) => c.getSearchablePaths('/'));
for (const path of [...paths, '/links/broken', '/links/external', '/nowhere', '/numbers/f4/below']) {
  result.paths++;
  const entity = await compare(`${path}: entity`, (c) => c.entitiesStore.get(path));
  if (!entity) {
    continue;
  }
  await compare(`${path}: attributes`, (c) => c.attrValuesStore.get(entity));
  const dims = entity.shape?.dims;
  if (!dims) {
    continue;
  }
  const selections = [undefined];
  if (dims.length > 0 && dims.every((n) => n > 0)) {
    selections.push(['0', ...dims.slice(1).map(() => ':')].join(','));
    selections.push(dims.map((n) => n - 1).join(','));
    selections.push(dims.map((n) => `0:${n}:2`).join(','));
  }
  for (const selection of selections) {
    await compare(`${path}[${selection ?? ''}]: value`, (c) => c.valuesStore.get({ dataset: entity, selection }));
    if (ours.getExportURL('npy', entity, selection)) {
      await compare(`${path}[${selection ?? ''}]: npy`, (c) => download(c.getExportURL('npy', entity, selection)));
    }
  }
}
process.stdout.write(JSON.stringify(result));
