import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { APPROVAL, ASKING, SCHEDULE, STUCK } from './books';
import { tabbedTo } from './keyboard';
import { example, expect, isAccessible, loggedIn, type Served, test } from './serving';

const ASKED = /Pay 12 500\?/;

async function asked(served: Served): Promise<{ execution: string; item: string }> {
  const execution = await served.run(ASKING);
  const found = await served.call<{ items: { id: string }[] }>('GET', `/work-items?execution=${execution}`);
  return { execution, item: found.items[0]?.id ?? '' };
}

test.describe('the inbox', () => {
  test('22 by keyboard only: claim, change what was proposed, approve', async ({ inside: page, served }) => {
    const { execution, item } = await asked(served);
    await page.goto(`${served.said.url}/inbox`);
    const rows = page.getByRole('row').filter({ has: page.getByRole('gridcell') });
    await expect(rows.filter({ hasText: ASKED })).toHaveCount(1);
    const at = (await rows.allInnerTexts()).findIndex((row) => ASKED.test(row)); // others may be asked something, too
    for (let n = 0; n <= at; n++) {
      await page.keyboard.press('j');
      await expect(rows.nth(n)).toHaveAttribute('aria-selected', 'true');
    }
    await expect(page).toHaveURL(new RegExp(`item=${execution}/${item}`));
    await expect(page.getByRole('heading', { name: ASKED })).toBeVisible();
    await page.keyboard.press('c');
    await expect(page.getByText('allocated by')).toBeVisible();
    await tabbedTo(page, page.getByLabel('amount'));
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('11000');
    await expect(page.getByText('differs from what was proposed: amount')).toBeVisible();
    await expect(page.getByText('draft saved')).toBeVisible();
    await isAccessible(page);
    await page.keyboard.press('ControlOrMeta+Enter');
    await expect(page.getByRole('region', { name: 'Decision' })).toContainText('approve by');
    await page.getByText('History', { exact: true }).click();
    await expect(page.getByRole('listitem').filter({ hasText: 'complete' })).toBeVisible();
    await page.goto(`${served.said.url}/inbox?box=done`);
    await expect(rows.filter({ hasText: ASKED }).filter({ hasText: 'approve' }).first()).toBeVisible();
    await expect
      .poll(async () => await served.call('GET', `/executions/${execution}/result`))
      .toMatchObject({ action: 'approve', data: { amount: 11000 } });
  });

  test('23 two claim the same: the second is told who was first, and cannot decide it', async ({
    browser,
    served,
  }) => {
    const { execution, item } = await asked(served);
    const people = await Promise.all(['ann', 'bob'].map((name) => loggedIn(browser, served, name)));
    const [ann, bob] = people as [Page, Page];
    const address = `${served.said.url}/inbox?item=${execution}/${item}`;
    await ann.goto(address);
    await bob.goto(address);
    // bob presses while it is free for all he can see, and ann is served before him
    await bob.route('**/claim', async (route) => {
      await ann.getByRole('button', { name: 'Claim' }).click();
      await expect(ann.getByText('allocated by ann')).toBeVisible();
      await route.continue();
    });
    await bob.getByRole('button', { name: 'Claim' }).click();
    await expect(bob.getByRole('alert')).toContainText("'ann' has claimed it already");
    await expect(bob.getByText('allocated by ann')).toBeVisible();
    const approve = bob.getByRole('button', { name: /^approve/ });
    await expect(approve).toHaveAttribute('title', "'ann' holds it");
    await expect(approve).toHaveAttribute('aria-disabled', 'true');
    await ann.getByRole('button', { name: /^approve/ }).click();
    await expect(ann.getByRole('region', { name: 'Decision' })).toContainText('approve');
    await expect(bob.getByRole('region', { name: 'Decision' })).toContainText('approve');
    for (const page of people) await page.context().close();
  });

  test('a form that is not filled in says where', async ({ inside: page, served }) => {
    const { execution, item } = await asked(served);
    await page.goto(`${served.said.url}/inbox?item=${execution}/${item}`);
    await page.getByLabel('note').fill('much too long');
    await page.getByRole('button', { name: /^approve/ }).click();
    await expect(page.getByRole('alert').first()).toContainText('form');
    await page.getByRole('button', { name: /^reject/ }).waitFor();
  });
});

test.describe('playbooks', () => {
  test('20 an unsound text is shown the shortest way to get stuck, and cannot be applied', async ({
    inside: page,
    served,
  }) => {
    await served.call('PUT', '/playbooks/halves?allow_unsound=true', { text: STUCK });
    await page.goto(`${served.said.url}/edit/halves`);
    await expect(page.getByText('not sound', { exact: true })).toBeVisible();
    await expect(page.getByRole('list', { name: 'Problems' })).toContainText('P301');
    await expect(page.getByText('5 of 5')).toBeVisible();
    await expect(page.locator('[data-step="j"]')).toHaveAttribute('data-state', 'stuck');
    await page.getByRole('button', { name: 'First record' }).click();
    await expect(page.locator('[data-step="j"]')).not.toHaveAttribute('data-state', 'stuck');
    await page.getByRole('button', { name: 'Play' }).click();
    await expect(page.getByText('5 of 5')).toBeVisible();
    await expect(page.locator('[data-step="j"]')).toHaveAttribute('data-state', 'stuck');
    await page.getByRole('slider', { name: 'Record' }).focus();
    await page.keyboard.press('ArrowLeft'); // the keys of an execution
    await expect(page.getByText('4 of 5')).toBeVisible();
    await page.keyboard.press('ArrowRight');
    await expect(page.getByText('5 of 5')).toBeVisible();
    await isAccessible(page);
  });

  test('19 a mistake is marked, mended and applied', async ({ inside: page, served }) => {
    await served.apply(example('hello'));
    await page.goto(`${served.said.url}/edit/hello`);
    const apply = page.getByRole('button', { name: /^Apply/ });
    await expect(apply).toHaveAttribute('title', 'nothing has changed');
    const text = page.getByLabel('The text of the playbook');
    await text.click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.type('wrong: 1\n');
    await expect(apply).toContainText('1 error');
    await expect(page.getByRole('list', { name: 'Problems' })).toContainText('P101');
    await expect(text.locator('.cm-lintRange-error')).toHaveText('wrong');
    await page.getByRole('button', { name: 'Drop my changes' }).click();
    await expect(text).toBeFocused();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.type('keychan: []\n');
    await expect(text.locator('.cm-lintRange-error')).toHaveText('keychan');
    await page.getByRole('button', { name: /^Fix: .*keychain/ }).click();
    await expect(page.getByRole('list', { name: 'Problems' })).toBeHidden();
    await expect(text.locator('.cm-lintRange-error')).toHaveCount(0);
    await text.click();
    await page.keyboard.press('ControlOrMeta+Home');
    await page.keyboard.type('# mine\n');
    await expect(apply).not.toHaveAttribute('aria-disabled', 'true');
    await apply.click();
    await expect(page.getByText('Applied', { exact: true })).toBeVisible();
    await expect(apply).toHaveAttribute('title', 'nothing has changed');
  });

  test('a playbook in a folder is found by its path, shown and edited', async ({ inside: page, served }) => {
    await served.apply(example('credit_check'));
    await page.goto(`${served.said.url}/p/examples/credit_check`);
    await expect(page.getByRole('heading', { name: 'examples/credit_check' })).toBeVisible();
    await page.getByRole('link', { name: 'Edit' }).click();
    await expect(page.getByLabel('The text of the playbook')).toContainText('credit_check');
    await page.getByLabel('The text of the playbook').click();
    await page.keyboard.press('ControlOrMeta+Home');
    await page.keyboard.type('# mine\n');
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await expect(page.getByText('Applied', { exact: true })).toBeVisible();
  });

  test('the list of playbooks says of each how it stands', async ({ inside: page, served }) => {
    await served.apply(example('hello'));
    await served.run(example('hello'));
    await served.call('PUT', '/schedules/nightly', { text: SCHEDULE });
    await served.call('PUT', '/playbooks/halves?allow_unsound=true', { text: STUCK });
    await served.apply(APPROVAL);
    const waits = await served.run(APPROVAL);
    await page.goto(`${served.said.url}/playbooks`);
    const row = (name: string) =>
      page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
    await expect(row('hello')).toContainText('sound');
    await expect(row('hello').getByRole('img', { name: /completed/ })).toBeVisible();
    await expect(row('hello').getByRole('link', { name: /02:30|01:30/ })).toBeVisible();
    await expect(row('halves')).toContainText('not sound');
    await expect(row('halves').locator('[data-verdict]')).toHaveAttribute('title', /cannot/);
    await expect(row('halves')).toContainText('no schedule');
    await isAccessible(page);
    await row('signed').getByRole('link', { name: /open$/ }).click();
    await expect(page).toHaveURL(/playbook=signed/);
    await expect(page.getByRole('row', { name: waits })).toBeVisible();
  });

  test('a playbook shows how its runs went', async ({ inside: page, served }) => {
    await served.apply(example('hello'));
    await served.call('POST', '/executions', { playbook: 'hello' });
    await served.call('PUT', '/schedules/nightly', { text: SCHEDULE });
    await page.goto(`${served.said.url}/playbooks`);
    await page.getByRole('link', { name: 'hello', exact: true }).click();
    await expect(page.getByRole('heading', { name: 'hello' })).toBeVisible();
    await expect(page.locator('[data-step="greet"]')).toContainText(/ms|s/);
    await isAccessible(page);
    await page.getByRole('tab', { name: 'Source' }).click();
    await expect(page.getByText('def main(name):')).toBeVisible();
    await page.getByRole('tab', { name: 'Versions' }).click();
    await expect(page.getByText('runs now')).toBeVisible();
    await page.getByRole('tab', { name: 'Executions' }).click();
    const runs = page.getByRole('grid', { name: 'Executions of hello' });
    await expect(runs.getByRole('row').nth(1)).toContainText('It is done.');
    await isAccessible(page);
    await page.getByRole('tab', { name: 'Schedules' }).click();
    const clocks = page.getByRole('grid', { name: 'Schedules of hello' });
    await expect(clocks.getByRole('row').nth(1)).toContainText('At 02:30 every day');
    await page.getByRole('tab', { name: 'Tests' }).click();
    await isAccessible(page);
    await page.getByRole('link', { name: 'Open its tests in the editor' }).click();
    await page.waitForURL('**/edit/hello?panel=tests');
  });
});

test.describe('running it', () => {
  test('24 a schedule is looked ahead over a change of clocks, filled in after a count, paused and resumed', async ({
    inside: page,
    served,
  }) => {
    await served.apply(example('hello'));
    await served.call('PUT', '/schedules/nightly', { text: SCHEDULE });
    await page.goto(`${served.said.url}/schedules`);
    const card = page.getByRole('article', { name: 'nightly' });
    await expect(card).toContainText('At 02:30 every day');
    await card.getByRole('button', { name: 'Look ahead' }).click();
    await expect(card.getByRole('list', { name: 'The next times' }).getByRole('listitem')).toHaveCount(10);
    await card.getByLabel('From').fill('2027-03-27');
    const ahead = card.getByRole('list', { name: 'The next times' });
    await expect(ahead.getByRole('listitem').nth(1)).toContainText('2027-03-28 03:30');
    await expect(ahead.getByRole('listitem').nth(1)).toContainText('02:30 is skipped');
    await isAccessible(page);
    await card.getByRole('button', { name: 'Fill in the past' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/^From/).fill('2026-01-01');
    await dialog.getByLabel(/^To/).fill('2026-01-04');
    await expect(dialog.getByTestId('preview')).toContainText('There are 3 times from 2026-01-01');
    await dialog.getByLabel(/^To/).fill('2026-01-01');
    await expect(dialog.getByTestId('preview')).toContainText('There is no time');
    await dialog.getByLabel(/^To/).fill('2026-01-04');
    await dialog.getByRole('button', { name: 'Fill in the past' }).click();
    await expect(card).toContainText('started 3 ×');
    await card.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
    await expect(card.getByText('paused', { exact: true })).toBeVisible();
    await card.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume', exact: true }).click();
    await expect(card.getByText('paused', { exact: true })).toBeHidden();
  });

  test('the audit is verified, and kept as a file', async ({ inside: page, served }) => {
    await page.goto(`${served.said.url}/system?tab=audit`);
    const downloaded = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const lines = readFileSync(await (await downloaded).path(), 'utf8')
      .trimEnd()
      .split('\n');
    const numbers = lines.map((line) => (JSON.parse(line) as { number: number }).number);
    expect(numbers).toEqual(numbers.map((_, n) => n + 1)); // all of them, from the first on
    expect(numbers.length).toBeGreaterThan(1);
    await page.getByRole('button', { name: 'Verify the chain' }).click();
    await expect(page.getByText(/the chain holds/)).toBeVisible();
  });
});
