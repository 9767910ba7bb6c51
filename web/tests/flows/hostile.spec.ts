/** Data of somebody who means harm, and data of a size that nobody meant: on every page that shows data. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Page } from '@playwright/test';
import { example, expect, PETRA, type Served, test } from './serving';

const MARKUP = '<script>alert(1)</script><img src=x onerror=alert(1)><iframe src="javascript:alert(1)">';
/** Written from right to left, and without a space in it. */
const TURNED = `\u202egnorw \u2067${'w'.repeat(400)}`;
const ALL = `${MARKUP}${TURNED}`;

function deep(times: number): object {
  let well: object = { bottom: MARKUP };
  for (let n = 0; n < times; n++) well = { [MARKUP.slice(0, 8)]: [well] };
  return well;
}

const WORKLOAD = {
  title: ALL,
  many: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`<i>${n}</i>`, n])),
  well: deep(25),
};

/** Everything that may be said of a playbook says something hostile. JSON is YAML. */
const WILD = JSON.stringify({
  apiVersion: 'petra/v1',
  kind: 'Playbook',
  metadata: { name: 'wild', description: ALL },
  workload: { title: 'none', many: {}, well: null },
  executor: {
    spec: {
      input_schema: {
        type: 'object',
        properties: { title: { type: 'string', title: ALL, description: ALL } },
      },
      output: '{{ ask }}',
    },
  },
  workflow: [
    {
      step: 'ask',
      desc: ALL,
      tool: {
        kind: 'human',
        title: '{{ workload.title }}',
        description: ALL,
        actions: ['approve', 'reject'],
        proposal: { note: ALL, rest: '{{ workload }}' },
        form: {
          type: 'object',
          properties: { note: { type: 'string', title: ALL, description: ALL }, rest: {} },
        },
      },
    },
  ],
});

const SCHEDULED = JSON.stringify({
  apiVersion: 'petra/v1',
  kind: 'Schedule',
  metadata: { name: 'wild', description: ALL },
  playbook: 'wild',
  cron: '30 2 * * *',
  workload: { title: ALL },
});

const TRIGGERED = JSON.stringify({
  apiVersion: 'petra/v1',
  kind: 'Trigger',
  metadata: { name: 'wild', description: ALL },
  playbook: 'wild',
  webhook: { path: 'wild', verify: 'none' },
  workload: { title: ALL },
});

/** Nothing of it was made an element, nothing ran, and the page keeps its width. */
async function isHarmless(page: Page): Promise<void> {
  await expect(page.locator('[role=status][aria-label=loading]')).toHaveCount(0);
  await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1);
  await expect(page.locator('#page script, #page img[src="x"], #page iframe, #page i:text("0")')).toHaveCount(
    0,
  );
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(await wide(), 'nothing makes the page wider than the window').toBeLessThanOrEqual(0);
}

/** A worker whose name and label mean harm, and what it is asked for by a pool that nobody serves. */
async function working(served: Served): Promise<ChildProcess> {
  const name = `<b>worker</b>${MARKUP.slice(0, 40)}`;
  const worker = spawn(
    PETRA,
    [
      'worker',
      '--server',
      served.said.url,
      '--pool',
      'wild',
      '--name',
      name,
      '--label',
      `<i>0</i>=${MARKUP}`,
    ],
    { env: { ...process.env, PETRA_TOKEN: served.said.token }, stdio: 'ignore' },
  );
  const names = async () =>
    (await served.call<{ items: { name: string }[] }>('GET', '/workers')).items.map((one) => one.name);
  await expect.poll(names).toContain(name);
  return worker;
}

async function filled(served: Served): Promise<{ id: string; other: string; item: string }> {
  await served.apply(WILD);
  await served.call('PUT', '/schedules/wild', { text: SCHEDULED });
  await served.call('PUT', '/triggers/wild', { text: TRIGGERED });
  const start = () => served.run(WILD, WORKLOAD, { '<b>label</b>': MARKUP });
  const [id, other] = [await start(), await start()];
  const items = await served.call<{ items: { id: string }[] }>('GET', `/work-items?execution=${id}`);
  const item = items.items[0]?.id ?? '';
  await served.call('POST', `/work-items/${id}/${item}/comment`, { text: ALL });
  await served.call('PATCH', `/executions/${other}/ctx`, { values: { [MARKUP]: ALL }, reason: ALL });
  return { id, other, item };
}

test('hostile and enormous data is data on every page that shows some', async ({ inside: page, served }) => {
  test.setTimeout(150_000);
  page.on('dialog', () => {
    throw new Error('something of the data was run');
  });
  const { id, other, item } = await filled(served);
  const worker = await working(served);
  const seen: [path: string, ready: string][] = [
    [`executions?sel=${id}`, '[role=row]'],
    [`e/${other}?sel=step:ask&level=all`, '[data-step="ask"]'],
    [`e/${other}?sel=ctx:${encodeURIComponent(MARKUP)}&tab=ctx`, '[data-step="ask"]'],
    [`e/${other}?tab=source`, '[data-step="ask"]'],
    [`e/${other}?tab=io&table=yes`, '[role=grid]'],
    [`e/${other}?tab=explain&sel=item:${item}`, '[data-step="ask"]'],
    [`e/${other}?lens=net&sel=rec:2`, '[title="ask.running"]'],
    [`e/${id}/diff/${other}`, '[data-step="ask"]'],
    [`inbox?box=open&item=${id}/${item}`, '[aria-label=Form] input'],
    ['inbox?box=all', '[role=row]'],
    ['playbooks?sel=wild', '[role=row]'],
    ['p/wild', '[data-step="ask"]'],
    ['p/wild?tab=source', 'pre'],
    ['p/wild?tab=versions', 'h1'],
    ['p/wild?tab=executions', '[role=row] a'],
    ['p/wild?tab=schedules', '[role=row] a'],
    ['edit/wild', '[data-step="ask"]'],
    ['edit/wild?panel=simulate', '[aria-label="What happens next?"]'],
    ['edit/wild?panel=tests', 'h2'],
    ['schedules', 'article'],
    ['schedules?edit=wild', '[aria-label="The next times"]'],
    ['triggers', 'article'],
    ['notifications', 'h1'],
    ['workers', '[role=row]:has-text("<b>worker</b>")'],
    ['system', 'h3'],
    ['system?tab=audit', '[role=row]'],
    ['system?tab=secrets', 'h1'],
    ['system?tab=tokens', 'h1'],
    ['system?tab=users', 'h1'],
  ];
  for (const [path, ready] of seen) {
    await test.step(path, async () => {
      await page.goto(`${served.said.url}/${path}`);
      await expect(page.locator(ready).first()).toBeVisible();
      await isHarmless(page);
    });
  }
  worker.kill('SIGKILL');
  await page.goto(`${served.said.url}/e/${other}?sel=step:ask`);
  await expect(page.locator('[data-step="ask"]')).toBeVisible();
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByPlaceholder(/^Words/).fill('<script>');
  await isHarmless(page);
  await page.keyboard.press('Escape');
  await page.goto(`${served.said.url}/executions?sel=${id}`);
  await page.keyboard.press('Space');
  await isHarmless(page);
  await page.keyboard.press('s');
  await page.getByRole('dialog').getByLabel('Playbook').selectOption('wild');
  await isHarmless(page);
});

test('a text in the editor and a file of tests may say anything', async ({ inside: page, served }) => {
  page.on('dialog', () => {
    throw new Error('something of the data was run');
  });
  await served.apply(example('hello'));
  await page.goto(`${served.said.url}/edit/hello?panel=tests`);
  const cases = `apiVersion: petra/v1\nkind: Test\nplaybook: hello.yaml\ncases:\n  - name: ${JSON.stringify(ALL)}\n    expect: {output: ${JSON.stringify(ALL)}}\n`;
  const buffer = Buffer.from(cases);
  await page.getByLabel('A test file').setInputFiles({ name: 'x.yaml', mimeType: 'text/yaml', buffer });
  await expect(page.getByLabel('The test file')).toContainText('kind: Test'); // it is read aside
  await page.keyboard.press('ControlOrMeta+Enter');
  await expect(page.getByTestId('tested')).toContainText('1 failed');
  await page.getByRole('list', { name: 'Cases' }).getByRole('button').click();
  await expect(page.getByRole('region', { name: /The case/ })).toContainText('<script>alert(1)</script>');
  await isHarmless(page);
  await page.getByLabel('The text of the playbook').click();
  await page.keyboard.press('ControlOrMeta+Home');
  await page.keyboard.type(`${MARKUP}: 1\n`);
  await expect(page.getByRole('list', { name: 'Problems' })).toBeVisible();
  await isHarmless(page);
});
