import { HOSTILE, LOOP } from './books';
import { expect, isAccessible, test } from './serving';

test('9 a loop is a map: counts, the failed ones, one iteration', async ({ inside: page, served }) => {
  const id = await served.run(LOOP);
  await page.goto(`${served.said.url}/e/${id}?sel=step:each`);
  const told = page.getByTestId('loop');
  await expect(told).toContainText('297 ok');
  await expect(told).toContainText('3 failed');
  await expect(page.locator('[data-step="each"]')).toHaveAttribute('data-state', 'partial');
  await page.getByRole('button', { name: 'Next that failed' }).click();
  await expect(page).toHaveURL(/sel=iter:\d+\/7$|sel=iter:\d+\/7&/);
  await expect(page.getByRole('heading', { name: 'Iteration 7' })).toBeVisible();
  await page.getByRole('img', { name: /300 iterations/ }).press('ArrowRight');
  await expect(page.getByRole('heading', { name: 'Iteration 8' })).toBeVisible();
  await isAccessible(page);
});

test('hostile data is shown as data, everywhere', async ({ inside: page, served }) => {
  const id = await served.run(HOSTILE, {}, { '<b>label</b>': '"><script>alert(1)</script>' });
  page.on('dialog', () => {
    throw new Error('something of the data was run');
  });
  for (const tab of ['step', 'explain', 'ctx', 'io', 'logs', 'source']) {
    await page.goto(`${served.said.url}/e/${id}?sel=step:make&tab=${tab}&level=all`);
    await expect(page.locator('[data-step="make"]')).toHaveAttribute('data-state', 'done');
    await expect(page.getByRole('tabpanel')).not.toBeEmpty();
  }
  await page.goto(`${served.said.url}/e/${id}?tab=ctx`);
  const side = page.getByRole('region', { name: 'Details' });
  await expect(side).toContainText('<script>alert(1)</script>');
  await expect(side.getByRole('button', { name: /all 29 KB/ })).toBeVisible();
  await expect(page.locator('#page script, #page img[src="x"], #page iframe')).toHaveCount(0);
  await page.goto(`${served.said.url}/executions?q=${encodeURIComponent('<img src=x onerror=alert(1)>')}`);
  await expect(page.getByRole('heading', { name: 'Nothing matches' })).toBeVisible();
});
