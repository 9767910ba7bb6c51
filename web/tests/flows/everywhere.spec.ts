import { execFileSync } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { APPROVAL, ASKING, SCHEDULE, TRIGGER, TYPED } from './books';
import { example, expect, isAccessible, PETRA, type Served, test } from './serving';
import { cutOff, dialogsGiveBack, tabbed } from './walking';

/** Half as many pixels of the page each way, as in a window of 1440 by 900 at 200 %. */
const TWICE = { width: 720, height: 450 };

interface Made {
  [name: string]: string;
}

/** Something on every page, made once. */
const made = new WeakMap<Served, Promise<Made>>();

async function furnished(served: Served): Promise<Made> {
  for (const text of [example('hello'), ASKING, TYPED]) await served.apply(text);
  await served.call('POST', '/executions', { playbook: 'hello' });
  await served.call('PUT', '/schedules/nightly', { text: SCHEDULE });
  await served.call('PUT', '/triggers/orders', { text: TRIGGER });
  const asking = await served.run(ASKING);
  const items = await served.call<{ items: { id: string }[] }>('GET', `/work-items?execution=${asking}`);
  const signed = await served.run(APPROVAL);
  const fork = await served.call<{ id: string }>('POST', `/executions/${signed}/fork`, {
    at: 3,
    reason: 'what if',
  });
  return { asking, item: items.items[0]?.id ?? '', signed, fork: fork.id };
}

const PAGES: Record<string, { path: (has: Made) => string; ready: string }> = {
  executions: { path: () => 'executions', ready: '[role=row]' },
  'an execution': { path: (has) => `e/${has.signed}?sel=step:wait`, ready: '[data-step="wait"]' },
  'its net and ctx': { path: (has) => `e/${has.signed}?lens=net&tab=ctx`, ready: '[title="wait.running"]' },
  'its table and family': { path: (has) => `e/${has.signed}?table=yes&tab=family`, ready: '[role=grid]' },
  'two beside each other': {
    path: (has) => `e/${has.signed}/diff/${has.fork}`,
    ready: '[data-step="count"]',
  },
  playbooks: { path: () => 'playbooks', ready: '[role=row]' },
  'a playbook': { path: () => 'p/hello', ready: '[data-step="greet"]' },
  'its source': { path: () => 'p/hello?tab=source', ready: 'pre' },
  'its executions': { path: () => 'p/hello?tab=executions', ready: '[role=row] a' },
  'its schedules': { path: () => 'p/hello?tab=schedules', ready: '[role=row] a' },
  'its versions': { path: () => 'p/hello?tab=versions', ready: 'h1' },
  'the editor': { path: () => 'edit/hello', ready: '[data-step="greet"]' },
  'its tests': { path: () => 'edit/hello?panel=tests', ready: 'h2' },
  'a walk through it': { path: () => 'edit/hello?panel=simulate', ready: '[data-step="greet"]' },
  'the inbox': { path: (has) => `inbox?item=${has.asking}/${has.item}`, ready: '[aria-label=Form] input' },
  schedules: { path: () => 'schedules', ready: 'article' },
  'writing a schedule': { path: () => 'schedules?edit=nightly', ready: '[aria-label="The next times"]' },
  triggers: { path: () => 'triggers', ready: 'article' },
  notifications: { path: () => 'notifications', ready: 'h2' },
  workers: { path: () => 'workers', ready: '[role=row]' },
  'the store': { path: () => 'system', ready: 'dl' },
  'the audit': { path: () => 'system?tab=audit', ready: '[role=row]' },
  secrets: { path: () => 'system?tab=secrets', ready: 'h1' },
  tokens: { path: () => 'system?tab=tokens', ready: 'h1' },
  users: { path: () => 'system?tab=users', ready: 'h1' },
};

for (const [name, { path, ready }] of Object.entries(PAGES)) {
  test(`25 in both themes, with the keyboard alone, at twice the size: ${name}`, async ({
    inside: page,
    served,
  }) => {
    if (!made.has(served)) made.set(served, furnished(served));
    const has = await made.get(served)!;
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.goto(`${served.said.url}/${path(has)}`);
    await expect(page.locator(ready).first()).toBeVisible();
    await expect(page.locator('[role=status][aria-label=loading]')).toHaveCount(0);
    await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1);
    await isAccessible(page);
    await page.getByRole('button', { name: 'Light theme' }).click();
    await isAccessible(page);
    expect(await tabbed(page), 'with the keyboard alone').toEqual([]);
    await dialogsGiveBack(page);
    await page.setViewportSize(TWICE);
    await expect.poll(() => cutOff(page), 'at twice the size').toEqual([]);
  });
}

test.afterAll(async ({ served }) => {
  const has = await made.get(served);
  const act = `/work-items/${has?.asking}/${has?.item}/complete`;
  // nobody is asked any more: an inbox of other flows is theirs
  if (has) await served.call('POST', act, { action: 'reject', data: { amount: 1 } });
});

test('25 the door, in both themes, with the keyboard alone, at twice the size', async ({ page, served }) => {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.goto(`${served.said.url}/login`);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await isAccessible(page);
  }
  expect(await tabbed(page)).toEqual([]);
  await page.setViewportSize(TWICE);
  await expect.poll(() => cutOff(page)).toEqual([]);
});

/** Do what a line says in a shell, as somebody who pasted it. */
function pasted(line: string, served: Served): void {
  execFileSync('bash', ['-c', line], {
    env: {
      ...process.env,
      PATH: `${dirname(PETRA)}${delimiter}${process.env.PATH}`,
      PETRA_SERVER: served.said.url,
      PETRA_TOKEN: served.said.token,
    },
  });
}

test('25 a line that is copied from a dialog runs in a shell, and does what the dialog says', async ({
  inside: page,
  served,
}) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const copied = async () => {
    await page.getByRole('dialog').getByRole('button', { name: 'Copy cli' }).click();
    await expect(page.getByText('Copied', { exact: true }).last()).toBeVisible();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  const note = `it's "so" & $HOME`;
  const id = await served.run(APPROVAL);
  await page.goto(`${served.said.url}/e/${id}?sel=step:wait&tab=ctx`);
  await page.getByRole('button', { name: 'More acts' }).click();
  await page.getByRole('menuitem', { name: 'Change ctx…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Values (JSON object)').fill(JSON.stringify({ note }));
  await dialog.getByLabel('Reason').fill("it's late");
  pasted(await copied(), served);
  await page.keyboard.press('Escape');
  await expect(page.getByRole('button', { name: 'More acts' })).toBeFocused();
  await expect(page.getByRole('region', { name: 'Details' })).toContainText(JSON.stringify(note));
  await page.getByRole('button', { name: 'More acts' }).press('Enter');
  await page.getByRole('menuitem', { name: 'Send a signal…' }).click();
  await dialog.getByLabel('Name').fill('go');
  pasted(await copied(), served);
  await expect(page.locator('h1 + span')).toContainText('done');
});
