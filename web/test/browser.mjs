// Opens files in headless Chromium: the page without JavaScript and the viewer h5web.
//
// Arguments: the address of the server with its token, the directory for screenshots, and the arrays
// as JSON: [{"file", "path"}, ...].
// Output: for each array the texts and the rectangles of pictures that the browser shows, and the
// messages of the browser.

import { chromium } from 'playwright-core';

const [address, shots, arrays] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--force-color-profile=srgb'],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
page.setDefaultTimeout(20_000);
const messages = [];
page.on('console', (m) => m.type() === 'error' && messages.push(`${m.text()} (${m.location().url})`));
page.on('pageerror', (e) => messages.push(e.message));
page.on('requestfailed', (r) => messages.push(`${r.url()}: ${r.failure().errorText}`));

// texts returns the texts below an element, in the order of the document.
const texts = (selector) =>
  page.evaluate((s) => {
    const walker = document.createTreeWalker(document.querySelector(s), NodeFilter.SHOW_TEXT);
    const out = [];
    while (walker.nextNode()) {
      const t = walker.currentNode.data.trim();
      if (t) {
        out.push(t);
      }
    }
    return out;
  }, selector);

async function shot(name) {
  const file = `${shots}/${name}.png`;
  await page.screenshot({ path: file, fullPage: true });
  return file;
}

// idle waits until all requests have ended and the picture is drawn.
async function idle() {
  await page.waitForLoadState('networkidle');
  await page.waitForTimeout(700);
}

const results = [];
await page.goto(address);
const home = page.url();
for (const { file, path } of JSON.parse(arrays)) {
  const r = { file };
  const name = file.replaceAll('/', '_');
  await page.goto(home);
  await page.getByRole('link', { name: file, exact: true }).or(page.getByRole('link', { name: `${file}/`, exact: true })).click();
  if (!page.url().includes('/view?')) {
    await page.getByRole('link', { name: 'Open this directory as a tree of arrays' }).click();
  }
  for (const part of path.split('/').slice(1)) {
    await page.locator('table').last().getByRole('link', { name: part, exact: true }).or(page.locator('td').getByRole('link', { name: part, exact: true })).first().click();
  }
  await idle();
  r.title = await page.title();
  r.rows = await page.locator('table.numbers tr').evaluateAll((rows) => rows.slice(0, 4).map((x) => [...x.cells].map((c) => c.textContent)));
  const image = page.locator('img');
  if (await image.count()) {
    r.width = await image.evaluate((x) => x.naturalWidth);
    r.image = await image.boundingBox();
  }
  r.plain = await shot(`${name}-plain`);

  await page.getByRole('link', { name: 'open in h5web' }).click();
  await idle();
  const map = page.getByRole('tab', { name: 'Heatmap' });
  if (await map.count()) {
    await map.click(); // h5web remembers the last choice
    await idle();
  }
  const canvas = page.locator('canvas').first();
  if (await canvas.count()) {
    r.canvas = await canvas.boundingBox();
  }
  r.display = await shot(`${name}-display`);
  const matrix = page.getByRole('tab', { name: 'Matrix' });
  if (await matrix.count()) {
    await matrix.click();
    await idle();
    await page.getByRole('radio', { name: 'Exact' }).click();
    await idle();
    r.matrix = await shot(`${name}-matrix`);
  }
  r.texts = await texts('main');
  await page.getByRole('tab', { name: 'Inspect' }).click();
  await idle();
  r.facts = await texts('main');
  await shot(`${name}-inspect`);
  results.push(r);
}
await browser.close();
process.stdout.write(JSON.stringify({ results, messages }));
