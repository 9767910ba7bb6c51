import type { Page } from '@playwright/test';
import { LONG } from './books';
import { expect, type Served, test } from './serving';

const HELD = 200;

/** How many records a page was sent, one by one. */
function fetched(page: Page): () => number {
  let sum = 0;
  page.on('response', async (answer) => {
    if (!/\/frames\?/.test(answer.url()) || /bins=/.test(answer.url())) return;
    const told = (await answer.json().catch(() => ({ dt: [] }))) as { dt: number[] };
    sum += told.dt.length;
  });
  return () => sum;
}

interface Then {
  tokens: Record<string, number>;
  event: { type: string };
}

async function agrees(page: Page, served: Served, id: string, seq: number): Promise<void> {
  const then = await served.call<Then>('GET', `/executions/${id}/at/${seq}`);
  await expect(page.getByRole('slider', { name: 'Record' })).toHaveAttribute('aria-valuenow', String(seq));
  for (const step of ['turn', 'pause', 'last']) {
    const row = page
      .getByRole('grid', { name: 'Steps' })
      .getByRole('row')
      .filter({ hasText: new RegExp(`^${step}`) });
    await expect(row.getByRole('gridcell').nth(3)).toHaveText(String(then.tokens[`${step}.running`] ?? 0));
    await expect(row.getByRole('gridcell').nth(4)).toHaveText(String(then.tokens[`${step}.ready`] ?? 0));
    const begun = await served.call<{ counts: number[] }>(
      'GET',
      `/executions/${id}/events/counts?step=${step}&type=step.started&until=${seq}&size=5000`,
    );
    const started = begun.counts[0] ?? 0;
    await expect(row.getByRole('gridcell').nth(2)).toHaveText(String(started));
  }
}

test('a long execution is held in part: at any record, in the log, and as it goes on', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(LONG);
  const before = (await served.call<{ version: number }>('GET', `/executions/${id}`)).version;
  expect(before).toBeGreaterThan(HELD);
  await page.addInitScript((held) => localStorage.setItem('petra.held', String(held)), HELD);
  const records = fetched(page);
  const url = `${served.said.url}/e/${id}`;

  // where it waits, and at records that are not held
  await page.goto(`${url}?table=yes`);
  await agrees(page, served, id, before);
  expect(records()).toBeLessThan(before);
  for (const seq of [1, 333, 512]) {
    await page.goto(`${url}?at=${seq}&table=yes`);
    await agrees(page, served, id, seq);
  }
  await page.getByRole('button', { name: 'Next record' }).click();
  await agrees(page, served, id, 513);
  const slider = page.getByRole('slider', { name: 'Record' });
  await slider.focus();
  await page.keyboard.press('Home');
  await agrees(page, served, id, 1);

  // a drag stops where all is known, and all is right there
  const track = (await slider.boundingBox())!;
  await page.mouse.move(track.x + 4, track.y + track.height / 2);
  await page.mouse.down();
  await page.mouse.move(track.x + track.width * 0.4, track.y + track.height / 2, { steps: 5 });
  await page.mouse.up();
  const there = Number(await slider.getAttribute('aria-valuenow'));
  expect(Math.abs(there - before * 0.4)).toBeLessThan(before * 0.1);
  await agrees(page, served, id, there);

  // the log: from its end to its beginning, what is counted is there, and words are found
  await page.goto(`${url}?sel=step:turn&level=all`);
  const log = page.getByRole('grid', { name: 'Records' });
  const own = await served.call<{ counts: number[] }>(
    'GET',
    `/executions/${id}/events/counts?step=turn&size=1000`,
  );
  await expect(log).toHaveAttribute('aria-rowcount', String(own.counts[0]! + 1));
  await page.keyboard.press('Escape');
  await expect(log).toHaveAttribute('aria-rowcount', String(before + 1));
  await expect(log.getByRole('row').last().getByRole('gridcell').first()).toHaveText(String(before));
  await log.evaluate((box) => {
    box.scrollTop = 0;
  });
  const first = log.locator('[data-index="0"]').getByRole('gridcell');
  await expect(first.nth(0)).toHaveText('1');
  await expect(first.nth(2)).toHaveText('execution.started');
  await expect(first.nth(4)).not.toHaveText('');
  await page.getByRole('textbox', { name: 'Filter the log' }).fill('execution.started');
  await expect(log).toHaveAttribute('aria-rowcount', '2');

  await page.goto(`${url}?sel=step:turn&at=333&level=all`);
  const chosen = log.getByRole('row', { selected: true });
  await expect(chosen.getByRole('gridcell').first()).toHaveText('333');
  await expect(chosen).toBeInViewport({ ratio: 0.9 });

  // from record to record of a selection, over what is not held
  await page.goto(`${url}?sel=step:pause&at=3&table=yes`);
  await agrees(page, served, id, 3);
  await page.keyboard.press('Shift+ArrowRight');
  const waits = await served.call<{ items: { first: number }[] }>('GET', `/executions/${id}/runs?step=pause`);
  await agrees(page, served, id, waits.items[0]!.first);

  // it goes on: what lies far back is let go, and the end is the end
  await page.goto(`${url}?table=yes&level=all`);
  await agrees(page, served, id, before);
  const far = records();
  await served.call('POST', `/executions/${id}/signals/go`, {});
  await expect(page.getByRole('heading', { level: 1 }).locator('..')).toContainText('done');
  const after = (await served.call<{ version: number }>('GET', `/executions/${id}`)).version;
  await agrees(page, served, id, after);
  expect(records() - far).toBeLessThan(after);
  await page.keyboard.press('Escape');
  await expect(log).toHaveAttribute('aria-rowcount', String(after + 1));
  await page.getByRole('button', { name: 'First record' }).click();
  await agrees(page, served, id, 1);
});
