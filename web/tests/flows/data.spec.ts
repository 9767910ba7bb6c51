import { HEAVY, HOSTILE, LOOP, MANY, NESTED } from './books';
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

test('in the log, turns of a loop stand as one row until they are asked for', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(LOOP);
  await page.goto(`${served.said.url}/e/${id}?sel=step:each&level=all`);
  const log = page.getByRole('region', { name: 'Log' });
  const folded = log.getByText(/[\d,]+ × loop\.iterations/);
  await expect(folded.first()).toBeVisible();
  await isAccessible(page);
  const before = await log.getByRole('row').count();
  await log
    .getByRole('button', { name: /: show each$/ })
    .first()
    .click();
  await expect.poll(() => log.getByRole('row').count()).toBeGreaterThan(before);
});

test('steps that are looked for stand out, and so does what the end waited for', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(LOOP);
  await page.goto(`${served.said.url}/e/${id}`);
  const which = page.getByRole('radiogroup', { name: 'Which steps stand out' });
  await expect(which.getByText('failed 1')).toBeVisible();
  await which.getByText('active 0').click();
  await expect(page).toHaveURL(/only=active/);
  await expect(page.locator('[data-step="each"]')).toHaveAttribute('data-faint', 'true');
  await isAccessible(page);
  await which.getByText('failed 1').click();
  await expect(page.locator('[data-step="each"]')).not.toHaveAttribute('data-faint', 'true');
  const lanes = page.getByRole('region', { name: 'Timeline' });
  await lanes.getByRole('button', { name: 'Critical path' }).click();
  await expect(page).toHaveURL(/path=yes/);
  await expect(lanes.getByRole('button', { name: 'each' })).toHaveAttribute('data-path', 'true');
});

test('9 a loop of ten thousand: the map, the failed ones, one iteration, back in time', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(MANY);
  await served.call('GET', `/executions/${id}`); // waits until it has ended
  await page.goto(`${served.said.url}/e/${id}?sel=step:each`);
  await expect(page.getByTestId('loop')).toContainText('9,990 ok');
  await expect(page.getByTestId('loop')).toContainText('10 failed');
  await expect(page.locator('[data-step="each"]').getByRole('img')).toHaveAttribute(
    'aria-label',
    '10000 of 10000 ended',
  );
  await page.getByRole('button', { name: 'Next that failed' }).click();
  await expect(page.getByRole('heading', { name: 'Iteration 7' })).toBeVisible();
  await page.getByRole('button', { name: 'Next that failed' }).click();
  await expect(page.getByRole('heading', { name: 'Iteration 1007' })).toBeVisible();
  await page.getByRole('slider', { name: 'Record' }).focus();
  await page.keyboard.press('Home');
  await expect(page.getByTestId('loop')).toContainText('10,000 to go');
});

test('a nested loop has a line for each outer iteration', async ({ inside: page, served }) => {
  const id = await served.run(NESTED);
  await page.goto(`${served.said.url}/e/${id}?sel=step:rows`);
  const map = page.getByRole('img', { name: /9 iterations/ });
  await map.press('ArrowRight');
  await expect(page.getByRole('heading', { name: 'Iteration 0.0' })).toBeVisible();
  await map.press('ArrowDown');
  await expect(page.getByRole('heading', { name: 'Iteration 1.0' })).toBeVisible();
});

test('ten megabytes, ten thousand keys and a well are shown as data, and the page stays usable', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(HEAVY);
  page.on('dialog', () => {
    throw new Error('something of the data was run');
  });
  const side = page.getByRole('region', { name: 'Details' });
  for (const tab of ['step', 'ctx', 'io', 'logs', 'family']) {
    await page.goto(`${served.said.url}/e/${id}?sel=step:make&tab=${tab}`);
    await expect(page.locator('[data-step="make"]')).toHaveAttribute('data-state', 'done');
    await expect(page.getByRole('tabpanel')).not.toBeEmpty();
  }
  await page.goto(`${served.said.url}/e/${id}?tab=ctx`);
  await expect(side).toContainText('kept apart');
  await side.getByRole('button', { name: 'load' }).first().click();
  await expect(side).toContainText('<i>0</i>: 0');
  await expect(side.getByRole('button', { name: 'more of 10,000' })).toBeVisible();
  await isAccessible(page);
  await page.goto(`${served.said.url}/e/${id}?sel=rec:2&level=all`);
  await expect(page.getByRole('heading', { name: 'Record 2' })).toBeVisible();
  await expect(page.locator('#page i:text("0"), #page b:text("x")')).toHaveCount(0);
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
