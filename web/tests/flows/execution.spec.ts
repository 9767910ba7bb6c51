import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { APPROVAL, ASKING, FAILING } from './books';
import { example, expect, isAccessible, PETRA, type Served, test } from './serving';

test('5 a failed run opens on its failure; what was thrown is text', async ({ inside: page, served }) => {
  const id = await served.run(FAILING);
  await page.goto(`${served.said.url}/e/${id}`);
  await expect(page).toHaveURL(/sel=step:breaks/);
  await expect(page.locator('[data-step="breaks"]')).toHaveAttribute('data-state', 'failed');
  await expect(page.locator('[data-step="never"]')).toHaveAttribute('data-state', 'idle');
  const side = page.getByRole('region', { name: 'Details' });
  await expect(side).toContainText('<img src=x onerror=alert(1)> it broke');
  await expect(page.locator('img[src="x"]')).toHaveCount(0);
  await isAccessible(page);
  await page.getByRole('button', { name: 'Light theme' }).click();
  await isAccessible(page);
});

/** What `petra replay -o json` says of a moment. */
interface Replayed {
  seq: number;
  records: number;
  event: { type: string; step?: string };
  marking: Record<string, number>;
  ctx: Record<string, unknown>;
}

async function replayed(served: Served, id: string, seq: number): Promise<Replayed> {
  const asked = ['replay', id, '--to', String(seq), '--server', served.said.url, '-o', 'json'];
  const env = { ...process.env, PETRA_TOKEN: served.said.token };
  return JSON.parse((await promisify(execFile)(PETRA, asked, { env })).stdout) as Replayed;
}

test('6 scrubbed back, marking, ctx and log agree with petra replay', async ({ inside: page, served }) => {
  const id = await served.run(APPROVAL);
  await page.goto(`${served.said.url}/e/${id}`);
  const slider = page.getByRole('slider', { name: 'Record' });
  await expect(slider).toHaveAttribute('aria-valuemax', /^[3-9]$/);
  const last = Number(await slider.getAttribute('aria-valuemax'));
  const replays = await Promise.all([1, 2, 3, last].map((seq) => replayed(served, id, seq)));
  for (const replay of replays) {
    const seq = replay.seq;
    await page.goto(`${served.said.url}/e/${id}?at=${seq}&sel=rec:${seq}&level=all&table=yes&tab=ctx`);
    await expect(slider).toHaveAttribute('aria-valuenow', String(seq));
    const tokens = replay.marking;
    for (const step of ['count', 'wait', 'last']) {
      const row = page
        .getByRole('grid', { name: 'Steps' })
        .getByRole('row')
        .filter({ hasText: new RegExp(`^${step}`) });
      await expect(row.getByRole('gridcell').nth(3)).toHaveText(String(tokens[`${step}.running`] ?? 0));
      await expect(row.getByRole('gridcell').nth(4)).toHaveText(String(tokens[`${step}.ready`] ?? 0));
    }
    const side = page.getByRole('region', { name: 'Details' });
    if ('doubled' in replay.ctx) await expect(side).toContainText(`doubled: ${replay.ctx.doubled}`);
    else await expect(side).toContainText('ctx is empty here');
    const log = page.getByRole('grid', { name: 'Records' });
    await expect(log).toHaveAttribute('aria-rowcount', String(replay.records + 1));
    const here = log.getByRole('row', { selected: true }).getByRole('gridcell');
    await expect(here.nth(0)).toHaveText(String(replay.seq));
    await expect(here.nth(2)).toHaveText(replay.event.type);
    await expect(here.nth(3)).toHaveText(replay.event.step ?? '');
    await expect(log.locator('[role=row][data-faint]')).toHaveCount(last - seq);
  }
});

test('7 play, pause, step, and back to live', async ({ inside: page, served }) => {
  const id = await served.run(example('fan_out'));
  await page.clock.install(); // a story is played by the clock, which goes on when it is told to
  await page.goto(`${served.said.url}/e/${id}?at=1`);
  const slider = page.getByRole('slider', { name: 'Record' });
  await expect(page.getByText('As it was at record 1')).toBeVisible();
  await page.getByRole('button', { name: 'Next record' }).click();
  await expect(slider).toHaveAttribute('aria-valuenow', '2');
  await page.keyboard.press('ArrowRight');
  await expect(slider).toHaveAttribute('aria-valuenow', '3');
  await page.keyboard.press('ArrowLeft');
  await expect(slider).toHaveAttribute('aria-valuenow', '2');
  const beat = () => page.clock.runFor(500); // no gap is played longer than that
  const at = async () => Number(await slider.getAttribute('aria-valuenow'));
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.getByRole('button', { name: 'Play' }).click();
  await beat();
  await expect.poll(at).toBeGreaterThan(2);
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(page.getByRole('button', { name: 'Play' })).toBeVisible();
  const stopped = await at();
  for (let n = 0; n < 5; n++) await beat();
  expect(await at()).toBe(stopped);
  await expect(page.getByText(`As it was at record ${stopped}`)).toBeVisible();
  await page.clock.resume();
  await page.getByLabel('Speed').selectOption('100');
  await page.getByRole('button', { name: 'Play' }).click();
  await expect(page.getByText('As it was at record')).toHaveCount(0);
  await expect(slider).toHaveAttribute('aria-valuenow', (await slider.getAttribute('aria-valuemax')) ?? '');
  await expect(page.getByRole('button', { name: 'Play' })).toBeVisible();
  await slider.focus();
  await page.keyboard.press('Home');
  await expect(page.getByText('As it was at record 1')).toBeVisible();
  await page.keyboard.press('l');
  await expect(page.getByText('As it was at record')).toHaveCount(0);
});

test('8 the selection is one: graph, timeline, log and details follow each other', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(example('fan_out'));
  await page.goto(`${served.said.url}/e/${id}`);
  await expect(page).toHaveURL(/sel=step:close_report/);
  await page.getByRole('button', { name: 'All of it' }).click();
  await page.locator('[data-step="open_report"]').click();
  await expect(page).toHaveURL(/sel=step:open_report/);
  const lanes = page.getByRole('region', { name: 'Timeline' }).locator('button[data-selected]');
  await expect(lanes).toHaveText(['open_report']);
  const log = page.getByRole('region', { name: 'Log' });
  await expect(log.locator('h3')).toContainText('of step open_report');
  await expect(log.getByRole('gridcell', { name: 'open_report', exact: true }).first()).toBeVisible();
  await expect(log.getByRole('gridcell', { name: 'read_sales', exact: true })).toHaveCount(0);
  await expect(
    page.getByRole('region', { name: 'Details' }).getByRole('heading', { name: 'open_report' }).first(),
  ).toBeVisible();
  await page.getByRole('region', { name: 'Timeline' }).getByRole('button', { name: 'read_sales' }).click();
  await expect(lanes).toHaveText(['read_sales']);
  await expect(page).toHaveURL(/sel=step:read_sales/);
  await expect(page.locator('[data-step="read_sales"]')).toHaveAttribute('data-selected', 'true');
  await page.keyboard.press('Escape');
  await expect(page).not.toHaveURL(/sel=/);
  const record = log.getByRole('row').filter({ hasText: 'step.done' }).filter({ hasText: 'close_report' });
  await record.last().click();
  await expect(page).toHaveURL(/sel=rec:/);
  await expect(page.getByRole('heading', { name: /^Record \d+$/ })).toBeVisible();
  await page.goBack();
  await expect(page).not.toHaveURL(/sel=/);
});

test('a variable that is selected is one everywhere: who wrote it, the records that did, and what each changed', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(APPROVAL);
  const { items } = await served.call<{ items: { seq: number }[] }>(
    'GET',
    `/executions/${id}/ctx/doubled/history`,
  );
  const [write] = items.map((one) => one.seq);
  await page.goto(`${served.said.url}/e/${id}?sel=ctx:doubled&at=1`);
  const step = page.locator('[data-step="count"]');
  await expect(step).toBeVisible();
  const log = page.getByRole('region', { name: 'Log' });
  const rows = log.getByRole('row').filter({ has: page.getByRole('gridcell') });
  await expect(rows).toHaveCount(1);
  await expect(rows.getByRole('gridcell').first()).toHaveText(String(write));
  await expect(step).not.toHaveAttribute('data-selected', 'true'); // it had written nothing by then
  await page.keyboard.press('Shift+ArrowRight');
  await expect(page.getByRole('slider', { name: 'Record' })).toHaveAttribute('aria-valuenow', String(write));
  await expect(step).toHaveAttribute('data-selected', 'true');
  await expect(page.getByRole('region', { name: 'Details' })).toContainText('changed by this record');
  await page.keyboard.press('ArrowRight');
  await expect(page.getByText('changed by this record')).toHaveCount(0);
  await served.call('PATCH', `/executions/${id}/ctx`, { values: { doubled: 99 }, reason: 'try' });
  await expect(rows).toHaveCount(2);
});

test('what somebody did with a work item stands among the records of its step', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(ASKING);
  const { items } = await served.call<{ items: { id: string }[] }>('GET', `/work-items?execution=${id}`);
  const item = `/work-items/${id}/${items[0]?.id}`;
  await served.call('POST', `${item}/claim`, {});
  await page.goto(`${served.said.url}/e/${id}?sel=step:ask`);
  const rows = page.getByRole('region', { name: 'Log' }).getByRole('row');
  await expect(rows.filter({ hasText: 'workitem.changed' })).toContainText('claim by');
  await served.call('POST', `${item}/complete`, { action: 'reject', data: { amount: 1 } }); // other flows ask, too
  await expect(rows.filter({ hasText: 'complete by' })).toBeVisible();
});

test('11 a wait is explained, and its signal sent from there', async ({ inside: page, served }) => {
  const id = await served.run(APPROVAL);
  await page.goto(`${served.said.url}/e/${id}`);
  await expect(page).toHaveURL(/sel=step:wait/);
  await page.keyboard.press('e');
  const side = page.getByRole('region', { name: 'Details' });
  await side.getByRole('button', { name: 'Send the signal…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send a signal' });
  await expect(dialog.getByLabel('Name')).toHaveValue('go');
  await expect(dialog.getByText(`petra signal ${id} go`)).toBeVisible();
  await dialog.getByText('curl', { exact: true }).click();
  await expect(dialog.getByText(/Bearer \$PETRA_TOKEN/)).toBeVisible();
  await isAccessible(page);
  await dialog.getByRole('button', { name: 'Send a signal' }).click();
  await expect(page.locator('h1 + span')).toContainText('done');
});

test('12 run again from a step: an execution of its own, which says where it comes from', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(APPROVAL);
  await page.goto(`${served.said.url}/e/${id}?sel=step:count`);
  await expect(page.locator('[data-step="count"]')).toHaveAttribute('data-selected', 'true');
  await page.keyboard.press('r');
  const dialog = page.getByRole('dialog', { name: 'Run again from here' });
  await dialog.getByLabel('Reason').fill('once more');
  await dialog.getByRole('button', { name: 'Run again from here' }).click();
  await page.waitForURL((url) => !url.pathname.includes(id));
  await page.getByRole('link', { name: 'origin' }).click();
  await page.waitForURL(`**/e/${id}**`);
});

test('15 pause, resume, cancel', async ({ inside: page, served }) => {
  const id = await served.run(APPROVAL);
  await page.goto(`${served.said.url}/e/${id}`);
  const state = page.locator('h1 + span');
  await expect(state).toContainText('waiting');
  await page.getByRole('button', { name: 'Pause…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await expect(state).toContainText('paused');
  await page.getByRole('button', { name: 'Resume…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await expect(state).toContainText('waiting');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await page.keyboard.press('Shift+C');
  const dialog = page.getByRole('dialog', { name: 'Cancel' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(dialog.getByText('this is needed')).toBeVisible();
  await dialog.getByLabel('Reason').fill('enough');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(state).toContainText('aborted');
  await expect(page.getByRole('button', { name: 'Pause…' })).toHaveAttribute('aria-disabled', 'true');
});
