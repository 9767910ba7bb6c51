import { example, expect, isAccessible, test } from './serving';

const TEXT = 'The text of the playbook';

test('a new playbook begins with a sound text, and is there once it was applied', async ({
  inside: page,
  served,
}) => {
  await served.apply(example('hello'));
  await page.goto(`${served.said.url}/playbooks`);
  await page.getByRole('button', { name: 'New playbook…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Path').fill('hello');
  await expect(dialog).toContainText('there is one already');
  await isAccessible(page);
  await dialog.getByLabel('Path').fill('team/orders');
  await dialog.getByRole('button', { name: 'Write it' }).click();
  await expect(page).toHaveURL(/\/edit\/team\/orders\?new=yes/);
  await expect(page.getByLabel(TEXT)).toContainText('team/orders');
  await expect(page.getByText(/^sound/)).toBeVisible();
  await expect(page.getByRole('list', { name: 'Problems' })).toHaveCount(0);
  await isAccessible(page);
  const apply = page.getByRole('button', { name: 'Apply', exact: true });
  await apply.click();
  await expect(page.getByText('Applied', { exact: true })).toBeVisible();
  await expect(apply).toHaveAttribute('title', 'nothing has changed');
  await page.getByRole('link', { name: 'The playbook' }).click();
  await expect(page.getByRole('heading', { name: 'team/orders' })).toBeVisible();
});

test('who was faster is not overwritten: both are shown', async ({ inside: page, served }) => {
  await page.goto(`${served.said.url}/edit/faster`);
  await page.getByRole('button', { name: 'Write a new one here' }).click();
  await expect(page.getByLabel(TEXT)).toContainText('name: faster');
  await served.apply(example('hello').replace('name: hello', 'name: faster'));
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  const pane = page.getByRole('region', { name: 'Somebody else applied a playbook here meanwhile' });
  await expect(pane.getByRole('button', { name: 'Merge' })).toHaveCount(0);
  await isAccessible(page);
  await pane.getByRole('button', { name: 'Keep mine' }).click();
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  await expect(page.getByText('Applied', { exact: true })).toBeVisible();
  const found = await served.call<{ text: string }>('GET', '/playbooks/faster');
  expect(found.text).toContain('workload: {who: world}');
});
