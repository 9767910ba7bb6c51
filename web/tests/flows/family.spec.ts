import { APPROVAL, CALLED, CALLING } from './books';
import { expect, isAccessible, test } from './serving';

test('12 lineage goes both ways', async ({ inside: page, served }) => {
  const id = await served.run(APPROVAL);
  const made = await served.call<{ id: string }>('POST', `/executions/${id}/rerun`, {
    from: 'count',
    reason: 'once more',
  });
  await page.goto(`${served.said.url}/e/${id}?tab=family`);
  const side = page.getByRole('region', { name: 'Details' });
  const forks = side.getByRole('region', { name: 'Forked or run again from it' });
  await forks.getByRole('link', { name: 'Compare' }).focus();
  await isAccessible(page);
  await forks.getByRole('link').first().click();
  await page.waitForURL(`**/e/${made.id}**`);
  await page.getByRole('tab', { name: 'Family' }).click();
  const past = side.getByRole('region', { name: 'Its past is that of' });
  await expect(past).toContainText('once more');
  await past.getByRole('link').first().click();
  await page.waitForURL(`**/e/${id}**`);
});

test('13 fork at a record, and compare: where they part, on one track, in both themes', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(APPROVAL);
  const { version } = await served.call<{ version: number }>('GET', `/executions/${id}`);
  await page.goto(`${served.said.url}/e/${id}?at=${version - 1}`);
  await page.getByRole('button', { name: 'Fork here…' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('what if');
  await dialog.getByRole('button', { name: 'Fork at this record' }).click();
  await page.waitForURL((url) => !url.pathname.includes(id));
  const fork = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  await served.call('POST', `/executions/${id}/signals/go`, {});
  await served.call('PATCH', `/executions/${fork}/ctx`, { values: { doubled: 99 }, reason: 'try' });
  await page.getByRole('link', { name: 'compare' }).click();
  await page.waitForURL(`**/e/${id}/diff/${fork}`);
  await expect(page.getByText('They differ')).toBeVisible();
  const [left, right] = [
    page.getByRole('region', { name: 'Left', exact: true }),
    page.getByRole('region', { name: 'Right', exact: true }),
  ];
  await expect(left.locator('[data-step="count"]')).toHaveAttribute('data-state', 'done');
  await expect(right.locator('[data-step="count"]')).toHaveAttribute('data-state', 'done');
  await expect(page.getByRole('region', { name: 'ctx' })).toContainText('99');
  const slider = page.getByRole('slider', { name: 'Records of both' });
  await slider.focus();
  await page.keyboard.press('End');
  await expect(left.locator('[data-step="last"]')).toHaveAttribute('data-state', 'done');
  await expect(right.locator('[data-step="last"]')).toHaveAttribute('data-state', 'idle');
  await page.keyboard.press('Home');
  await expect(page.getByTestId('pair')).toHaveText('1 | 1');
  await expect(left.locator('[data-step="count"]')).not.toHaveAttribute('data-state', 'done');
  await left.locator('[data-step="wait"]').click();
  await expect(right.locator('[data-step="wait"]')).toHaveAttribute('data-selected', 'true');
  await page.keyboard.press('d');
  await expect(page).not.toHaveURL(/at=/);
  await isAccessible(page);
  await page.getByRole('button', { name: 'Light theme' }).click();
  await isAccessible(page);
  await page.getByRole('button', { name: 'Swap' }).click();
  await page.waitForURL(`**/e/${fork}/diff/${id}`);
  await expect(page.getByText('They differ')).toBeVisible();
});

test('two of the list are compared; what is the same is said to be', async ({ inside: page, served }) => {
  const label = { both: 'alike' };
  for (let n = 0; n < 2; n++) await served.run(CALLED, { n: 1 }, label);
  await page.goto(`${served.said.url}/executions?label=both:alike`);
  const boxes = page.getByRole('checkbox', { name: /^Select / });
  await expect(boxes).toHaveCount(2);
  for (const box of await boxes.all()) await box.check();
  await page.getByRole('button', { name: 'Compare' }).click();
  await expect(page.getByText('They are the same')).toBeVisible();
  await expect(page.getByText('the same events in the same order (E0)')).toBeVisible();
});

test('18 a child is shown in its step, and left by the breadcrumb', async ({ inside: page, served }) => {
  await served.apply(CALLED);
  const id = await served.run(CALLING);
  await page.goto(`${served.said.url}/e/${id}?sel=step:call`);
  await page.getByRole('button', { name: 'The execution that call started' }).click();
  await expect(page).toHaveURL(/child=\d+\//);
  await expect(page.locator('[data-child-step="inner"]')).toHaveAttribute('data-state', 'done');
  await expect(page.locator('[data-child-step="asks"]')).toHaveAttribute('data-state', 'waiting');
  await expect(page.getByRole('region', { name: 'Timeline' }).getByText('inner')).toBeVisible();
  await isAccessible(page);
  await page.reload();
  await page.getByRole('button', { name: 'All of it' }).click();
  await page.locator('[data-child-step="asks"]').click();
  await page.waitForURL((url) => !url.pathname.includes(id));
  await expect(page).toHaveURL(/sel=step:asks/);
  await page.getByRole('navigation', { name: 'Started by' }).getByRole('link').click();
  await page.waitForURL(`**/e/${id}**`);
});
