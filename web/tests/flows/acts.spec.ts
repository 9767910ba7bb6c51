import { APPROVAL, FAILING, TRIGGER, TYPED } from './books';
import { example, expect, isAccessible, test } from './serving';

const SPREADING = `apiVersion: petra/v1
kind: Playbook
metadata: {name: spreading}
workflow:
  - step: spread
    tool: {kind: noop}
    next: {arcs: [{step: each, foreach: "{{ [1, 2] }}"}]}
  - step: each
    tool: {kind: wait, signal: go}
    next: {arcs: [{step: all}]}
  - step: all
    spec: {join: {}}
    tool: {kind: noop}
`;

test.describe('acts', () => {
  test('14 what an act leads to is said before it is done', async ({ inside: page, served }) => {
    const id = await served.run(APPROVAL);
    await page.goto(`${served.said.url}/e/${id}?sel=step:wait`);
    await expect(page.locator('h1 + span')).toContainText('waiting');
    await page.keyboard.press('Shift+C');
    const dialog = page.getByRole('dialog');
    await expect(dialog.getByTestId('preview')).toContainText('It would be aborted (cancelled)');
    await isAccessible(page);
    await dialog.getByRole('button', { name: 'Leave it' }).click();
    await page.keyboard.press('r');
    await expect(dialog.getByTestId('preview')).toContainText('kept: count');
    await dialog.getByRole('button', { name: 'Leave it' }).click();
    await page.keyboard.press('Shift+F');
    await expect(dialog.getByTestId('preview')).toContainText('A new execution would keep');
    await dialog.getByRole('button', { name: 'Leave it' }).click();
    await page.keyboard.press('Shift+M');
    await dialog.getByLabel(/Path of the playbook/).fill('nowhere');
    await expect(dialog.getByText(/no playbook 'nowhere' was applied/)).toBeVisible();
    await page.keyboard.press('Escape');
    await page.keyboard.press('o');
    await dialog.getByLabel('Result').fill('{"by": "hand"}');
    await expect(dialog.getByTestId('preview')).toContainText('1 run would start (last)');
    await dialog.getByLabel('Reason').fill('nobody will');
    await dialog.getByRole('button', { name: 'Decide its outcome' }).click();
    await expect(page.locator('h1 + span')).toContainText('done');
  });

  test('a live group is added to', async ({ inside: page, served }) => {
    const id = await served.run(SPREADING);
    await page.goto(`${served.said.url}/e/${id}?sel=step:spread`);
    await expect(page.locator('h1 + span')).toContainText('waiting');
    await page.keyboard.press('Shift+G');
    const dialog = page.getByRole('dialog', { name: 'Change a live group' });
    await expect(dialog.getByLabel(/The step that spreads/)).toHaveValue('spread');
    await dialog.getByLabel(/The item/).fill('3');
    await expect(dialog.getByText(`petra group ${id} spread add --item 3`)).toBeVisible();
    await dialog.getByRole('button', { name: 'Change a live group' }).click();
    await expect
      .poll(
        async () =>
          (await served.call<{ items: [] }>('GET', `/executions/${id}/runs?step=each`)).items.length,
      )
      .toBe(3);
  });

  test('the log is saved as a file', async ({ inside: page, served }) => {
    const id = await served.run(FAILING);
    await page.goto(`${served.said.url}/e/${id}`);
    await expect(page.locator('h1 + span')).toContainText('failed');
    await page.keyboard.press('Shift+E');
    const dialog = page.getByRole('dialog', { name: 'Export the log' });
    await dialog.getByLabel('Format').selectOption('csv');
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Export the log' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe(`${id}.csv`);
    expect(await saved.failure()).toBeNull();
  });
});

test('an event that could start nothing is a dead letter, said why, and tried again', async ({
  inside: page,
  served,
}) => {
  await page.goto(`${served.said.url}/triggers`);
  await expect(page.getByRole('heading', { name: 'Nothing is started by events' })).toBeVisible();
  await served.apply(TYPED);
  await served.call('PUT', '/triggers/orders', { text: TRIGGER });
  for (const amount of [7, 0]) {
    await fetch(`${served.said.url}/hooks/orders`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ amount }),
    });
  }
  const card = page.getByRole('article', { name: 'orders' });
  await expect(card.getByText('done')).toBeVisible();
  await card.getByRole('button', { name: '1 dead letter' }).click();
  const letters = card.getByRole('list', { name: 'Dead letters' });
  await expect(letters).toContainText('the workload does not fit: amount: 0');
  await isAccessible(page);
  await page.getByRole('button', { name: 'Light theme' }).click();
  await isAccessible(page);
  await served.apply(TYPED.replace('minimum: 1,', 'minimum: 0,'));
  await letters.getByRole('button', { name: 'Try again' }).click();
  const dialog = page.getByRole('dialog', { name: 'Try again' });
  await expect(dialog).toContainText('1 dead letter is tried again');
  await dialog.getByRole('button', { name: 'Try again' }).click();
  await expect(card.getByText('done')).toHaveCount(2);
  await expect(card.getByRole('button', { name: 'dead letter' })).toHaveCount(0);
  await card.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
  await expect(card.getByText('paused', { exact: true })).toBeVisible();
});

const PAGES = [
  'playbooks',
  'p/hello',
  'edit/hello',
  'inbox',
  'schedules',
  'triggers',
  'notifications',
  'workers',
  'system',
];

const DATA = /\/api\/v1\/(playbooks|work-items|schedules|triggers|notifications|workers|pools|stats)/;
const problem = (status: number, code: string) => ({
  status,
  contentType: 'application/problem+json',
  body: JSON.stringify({ title: 'No', status, code, detail: "needs 'see'", hint: 'ask' }),
});

for (const path of PAGES) {
  test(`${path} says that it loads, that something is wrong, and that one may not`, async ({
    inside: page,
    served,
  }) => {
    await served.apply(example('hello'));
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(DATA, async (route) => {
      await held;
      await route.fulfill(problem(500, 'broken'));
    });
    await page.goto(`${served.said.url}/${path}`);
    await expect(page.getByRole('status', { name: 'loading' }).first()).toBeVisible();
    release();
    await expect(page.getByRole('alert').first()).toContainText('broken');
    await page.unroute(DATA);
    await page.route(DATA, (route) => route.fulfill(problem(403, 'forbidden')));
    await page.goto(`${served.said.url}/${path}`);
    await expect(page.getByRole('alert').first()).toContainText('Ask an administrator');
    await expect(page.getByRole('button', { name: 'Retry' }).first()).toBeVisible();
    await page.unroute(DATA);
    // a page that asks by itself may have recovered before the button is pressed
    await page.evaluate(() => {
      for (const one of document.querySelectorAll('button')) if (one.textContent === 'Retry') one.click();
    });
    await expect(page.getByRole('alert')).toHaveCount(0);
  });
}
