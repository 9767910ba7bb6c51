import { APPROVAL, GATED } from './books';
import { expect, isAccessible, test } from './serving';

test('10 a gate is explained with its operands, ctx is changed from there, and it runs', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(GATED);
  await page.goto(`${served.said.url}/e/${id}`);
  await expect(page).toHaveURL(/sel=step:ship/);
  await expect(page.locator('[data-step="ship"]')).toHaveAttribute('data-state', 'waiting');
  await page.keyboard.press('e');
  const side = page.getByRole('region', { name: 'Details' });
  await expect(side.getByRole('button', { name: 'ctx.paid = false' })).toBeVisible();
  await isAccessible(page);
  await side.getByRole('button', { name: 'ctx.paid = false' }).click();
  await expect(page).toHaveURL(/sel=ctx:paid/);
  await page.keyboard.press('e');
  await side.getByRole('button', { name: 'Change ctx…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change ctx' });
  await dialog.getByLabel('Values (JSON object)').fill('{"paid": true}');
  await dialog.getByLabel('Reason').fill('it came by post');
  await dialog.getByRole('button', { name: 'Change ctx' }).click();
  await expect(page.locator('h1 + span')).toContainText('done');
  await expect(page.locator('[data-step="ship"]')).toHaveAttribute('data-state', 'done');
});

test('14 an outcome that somebody decided has a reason, a badge and a record', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(APPROVAL);
  await page.goto(`${served.said.url}/e/${id}?sel=step:wait&level=all`);
  await expect(page.locator('[data-step="wait"]')).toHaveAttribute('data-selected', 'true');
  await page.keyboard.press('o');
  const dialog = page.getByRole('dialog', { name: 'Decide its outcome' });
  await dialog.getByRole('button', { name: 'Decide its outcome' }).click();
  await expect(dialog.getByText('this is needed').first()).toBeVisible();
  await dialog.getByLabel('Reason').fill('the signal is lost');
  await dialog.getByRole('button', { name: 'Decide its outcome' }).click();
  await expect(page.locator('h1 + span')).toContainText('done');
  await expect(page.locator('[data-step="wait"]').getByTitle('decided by a person')).toBeVisible();
  await expect(page.locator('i[title^="operator act"]')).toHaveCount(1);
  const side = page.getByRole('region', { name: 'Details' });
  await expect(side).toContainText('decided by');
  const log = page.getByRole('region', { name: 'Log' });
  await log.getByRole('textbox', { name: 'Filter the log' }).fill('the signal is lost');
  await expect(log.getByRole('grid', { name: 'Records' })).toHaveAttribute('aria-rowcount', '2'); // its head is one
  await expect(log.getByRole('gridcell', { name: 'by hand: root: the signal is lost' })).toBeVisible();
});
