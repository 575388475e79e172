import license from 'rollup-plugin-license';
import { defineConfig } from 'vite';

// Licences of packages that may be part of the bundle.
const allowed = new Set(['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'Unlicense', '0BSD']);

// rank orders packages by name and version, so that two builds give the same bytes.
function rank(a, b) {
  const x = `${a.name} ${a.version}`;
  const y = `${b.name} ${b.version}`;
  return x < y ? -1 : Number(x > y);
}

const rule = '='.repeat(80);

// text returns the licence of a package. Some packages only name it.
function text({ author, license: kind, licenseText, repository }) {
  if (licenseText) {
    return licenseText.replaceAll('\r', '').trim();
  }
  const from = [author?.text(), repository?.url].filter(Boolean).join(', ');
  return `The package declares the licence ${kind} and contains no copy of its text.\nSource: ${from}`;
}

function licences(packages) {
  const entries = packages
    .sort(rank)
    .map((x) => `${rule}\n${x.name} ${x.version} (${x.license})\n${rule}\n\n${text(x)}\n`);
  return `Packages that are part of the front end h5web of hyperslab serve.\n\n${entries.join('\n')}`;
}

function list(packages) {
  return JSON.stringify(packages.sort(rank).map(({ name, version, license: kind }) => ({ name, version, license: kind })), null, 1);
}

const out = process.env.WEB_OUT ?? 'dist';

export default defineConfig({
  base: './', // the server may have a path of its own after a proxy
  esbuild: { jsx: 'automatic' },
  build: {
    outDir: out,
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
  },
  plugins: [
    license({
      thirdParty: {
        multipleVersions: true,
        allow: {
          test: ({ license: kind }) => allowed.has(kind),
          failOnUnlicensed: true,
          failOnViolation: true,
        },
        output: [
          { file: `${out}/THIRD_PARTY_LICENSES.txt`, template: licences },
          { file: `${out}/packages.json`, template: list },
        ],
      },
    }),
  ],
});
