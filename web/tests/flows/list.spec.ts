import { APPROVAL, FAILING } from './books';
import { expect, isAccessible, test } from './serving';

test.describe('the list of executions', () => {
  test('2 one is started from fields, and seen to complete', async ({ inside: page, served }) => {
    await served.apply(APPROVAL);
    await page.goto(`${served.said.url}/executions`);
    await page.getByRole('button', { name: 'Start…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start an execution' });
    await dialog.getByLabel('Playbook').selectOption('signed');
    await dialog.getByLabel('amount').fill('21');
    await dialog.getByLabel('Labels').fill('env=flow');
    await expect(dialog.getByText(/petra start signed --workload/)).toContainText('21');
    await isAccessible(page);
    await dialog.getByRole('button', { name: 'Start', exact: true }).click();
    await page.waitForURL('**/e/**');
    const state = page.locator('h1 + span');
    await expect(state).toContainText('waiting · signal');
    await expect(page.locator('[data-step="wait"]')).toHaveAttribute('data-state', 'waiting');
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await served.call('POST', `/executions/${id}/signals/go`, {});
    await expect(state).toContainText('done');
    await expect(page.locator('[data-step="last"]')).toHaveAttribute('data-state', 'done');
    await page.getByRole('tab', { name: 'ctx' }).click();
    await expect(page.getByText('doubled: 42')).toBeVisible();
  });

  test('3 a filter is in the address, and a view of it is kept', async ({ inside: page, served }) => {
    await served.run(FAILING, {}, { team: 'flow3' });
    await served.run(APPROVAL, {}, { team: 'flow3' });
    await page.goto(`${served.said.url}/executions`);
    const bar = page.getByLabel('Filter executions');
    await bar.fill('label.team=flow3 status:failed');
    await bar.press('Enter');
    await expect(page).toHaveURL(/status=failed/);
    const rows = page.getByRole('row').filter({ has: page.getByRole('gridcell') });
    await expect(rows).toHaveCount(1);
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('menuitem', { name: 'Keep this view…' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('my failures');
    await page.getByRole('dialog').getByLabel('Everybody sees it').check();
    await page.getByRole('button', { name: 'Keep', exact: true }).click();
    await expect(page).toHaveURL(/view=my/);
    const views = await served.call<{ items: { name: string; shared: boolean }[] }>('GET', '/views');
    expect(views.items.find((one) => one.name === 'my failures')?.shared).toBe(true);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('menuitem', { name: 'Show ‘Labels’' }).click();
    await expect(rows.first()).toContainText('team=flow3');
    await expect(page).toHaveURL(/cols=[a-z,]*labels/);
    const url = page.url();
    await page.reload();
    await expect(rows).toHaveCount(1);
    await expect(rows.first()).toContainText('team=flow3');
    await expect(bar).toHaveValue('status:failed label.team=flow3');
    expect(page.url()).toBe(url);
    await page.goto(`${served.said.url}/executions`);
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('menuitem', { name: 'my failures' }).click();
    await expect(rows).toHaveCount(1);
    await bar.fill('nothing is like this');
    await bar.press('Enter');
    await expect(page.getByRole('heading', { name: 'Nothing matches' })).toBeVisible();
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await expect(rows.first()).toBeVisible();
  });

  test('4 many are cancelled at once, after a look at how many', async ({ inside: page, served }) => {
    for (let n = 0; n < 3; n++) await served.run(APPROVAL, {}, { team: 'flow4' });
    await page.goto(`${served.said.url}/executions?label=team:flow4`);
    const rows = page.getByRole('row').filter({ has: page.getByRole('gridcell') });
    await expect(rows).toHaveCount(3);
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    const bar = page.getByRole('region', { name: 'Acts on those that are selected' });
    await expect(bar).toContainText('1 execution selected');
    await bar.getByRole('button', { name: 'or all 3 that match' }).click();
    await bar.getByRole('button', { name: 'Cancel…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel many' });
    await expect(dialog.getByTestId('preview')).toContainText('3 executions');
    await dialog.getByLabel('Reason').fill('the flow is over');
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click();
    await expect(rows.filter({ hasText: 'aborted' })).toHaveCount(3);
    const done = page.getByRole('region', { name: 'An act on many' });
    await expect(done).toContainText('Cancel: 3 executions');
    await isAccessible(page);
    await page.reload();
    await expect(done).toContainText('Cancel: 3 executions');
    await done.getByRole('button', { name: 'Close' }).click();
    await expect(page).not.toHaveURL(/[?&]op=/);
  });

  test('rows are walked, peeked at and opened by keys; new ones appear by themselves', async ({
    inside: page,
    served,
  }) => {
    const id = await served.run(FAILING, {}, { team: 'keys' });
    await page.goto(`${served.said.url}/executions?label=team:keys`);
    const rows = page.getByRole('row').filter({ has: page.getByRole('gridcell') });
    await expect(rows).toHaveCount(1);
    await served.run(APPROVAL, {}, { team: 'keys' });
    await expect(rows).toHaveCount(2);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Space');
    await expect(page.getByRole('complementary', { name: `Peek at ${id}` })).toBeVisible();
    await isAccessible(page);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/e/${id}**`);
  });

  test('a row that is told of while the list is asked for is not lost', async ({ inside: page, served }) => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const asked = page.waitForRequest(/executions\?.*label=/);
    await page.route(/\/api\/v1\/executions\?/, async (route) => {
      const answer = await route.fetch();
      const [status, headers, body] = [answer.status(), answer.headers(), await answer.body()];
      await held;
      await route.fulfill({ status, headers, body });
    });
    await served.run(FAILING, {}, { team: 'late' });
    await page.goto(`${served.said.url}/executions?label=team:late`);
    await asked;
    await expect(page.getByTestId('connection')).toContainText('connected');
    const counted = page.waitForRequest(/executions\/counts/); // it counts again once it has heard of a row
    await served.run(APPROVAL, {}, { team: 'late' });
    await counted;
    release();
    await expect(page.getByRole('row').filter({ has: page.getByRole('gridcell') })).toHaveCount(2);
    await page.unrouteAll({ behavior: 'wait' }); // what is still being answered is given up with its page
  });

  test('the keys and the palette are there, in both themes', async ({ inside: page, served }) => {
    await page.goto(`${served.said.url}/executions`);
    await expect(page.getByRole('heading', { name: 'Executions' })).toBeVisible();
    await page.keyboard.press('?');
    await expect(page.getByRole('dialog', { name: 'Keys' })).toContainText('Start an execution');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder(/Words, > acts/).fill('light');
    await page.keyboard.press('Enter');
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'light');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await isAccessible(page);
    await page.getByRole('button', { name: 'Dark theme' }).click();
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
    await isAccessible(page);
  });
});

test('who is not known is asked who they are, and comes back to where they wanted', async ({
  page,
  served,
}) => {
  await page.goto(`${served.said.url}/executions?status=failed`);
  await page.waitForURL('**/login**');
  expect(decodeURIComponent(page.url())).toContain('/executions?status=failed');
  await isAccessible(page);
  await page.getByLabel('Name').fill('nobody');
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await expect(page.getByRole('alert')).toContainText('Nobody is known to ask');
});
