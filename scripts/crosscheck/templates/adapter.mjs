// Adapter of crosscheck. Replace read, and the name and version below.
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** Returns the decoded bytes of a file, or null to skip it. An exception refuses the file. */
function read(path, area, object, dtype, item) {
  throw new Error('call your library here');
}

const answer = (...fields) => process.stdout.write(fields.map((s) => s.replace(/[\t\n]/g, ' ')).join('\t') + '\n');
console.log = console.error; // the library must not write between the answers
process.stdout.write('hyperslab.crosscheck.adapter/1\tNAME\tVERSION\n');
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, source, out, area, object, dtype, item] = line.split('\t');
  try {
    const data = verb === 'read' ? read(source, area, object, dtype, Number(item)) : null;
    if (data !== null) writeFileSync(out, data);
    answer(data === null ? 'skip' : 'ok');
  } catch (e) {
    answer('refused', String(e));
  }
}
