// Opens pages of arrays in headless Chromium and follows their links: the next slice, a search of the
// form, and the viewer h5web.
//
// Arguments: the address of the server with its token, the directory for screenshots, and the pages
// as JSON: [{"name", "file", "path", "query"}, ...].
// Output: for each page its texts and the pixels of its picture, and what the links lead to.

import { chromium } from 'playwright-core';

const [address, shots, pages] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--force-color-profile=srgb'],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
page.setDefaultTimeout(20_000);
const messages = [];
page.on('console', (m) => m.type() === 'error' && messages.push(`${m.text()} (${m.location().url})`));
page.on('requestfailed', (r) => messages.push(`${r.url()}: ${r.failure().errorText}`));

const results = [];
await page.goto(address);
const home = page.url();
for (const { name, file, path, query } of JSON.parse(pages)) {
  await page.goto(new URL(`view?${new URLSearchParams({ file, path })}&${query}`, home).href);
  await page.waitForLoadState('networkidle');
  const image = page.locator('img');
  const r = { name, command: await page.locator('code').textContent(), form: await page.locator('form').innerText() };
  r.picture = `${shots}/${name}-picture.png`;
  r.source = await image.getAttribute('src');
  await image.screenshot({ path: r.picture });
  await page.screenshot({ path: `${shots}/${name}-page.png`, fullPage: true });
  const next = page.getByTitle('next index').first();
  if (await next.count()) {
    await next.click();
    await page.waitForLoadState('networkidle');
    r.next = await page.locator('form').innerText();
    await page.getByTitle('previous index').first().click();
    await page.waitForLoadState('networkidle');
    r.back = await image.getAttribute('src');
  }
  await page.locator('select[name=colors]').selectOption('magma');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForLoadState('networkidle');
  r.magma = await page.locator('code').textContent();
  await page.getByRole('link', { name: 'open in h5web' }).click();
  await page.waitForLoadState('networkidle');
  r.viewer = await page.locator('main').innerText();
  results.push(r);
}
await browser.close();
process.stdout.write(JSON.stringify({ results, messages }));
