/** Every page, in both themes, at three widths, with data of a real server: `make pictures`. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import {
  APPROVAL,
  ASKING,
  CALLED,
  CALLING,
  FAILING,
  GATED,
  LOOP,
  SCHEDULE,
  TRIGGER,
  TYPED,
} from '../flows/books';
import { example, expect, letIn, Served, test } from '../flows/serving';

const OUT = process.env.PETRA_PICTURES || join(import.meta.dirname, '../../.cache/pictures');
const TOUR = join(import.meta.dirname, '../../src/features/executions/tour.yaml');
const FREIGHT = readFileSync(TOUR, 'utf8');
/** The details of an execution on a phone, which shows a pane at a time. */
const DETAILS = '[role=tabpanel] [role=tabpanel]';
const WIDTHS = [1440, 1024, 390];
const THEMES = ['dark', 'light'] as const;

interface Shot {
  name: string;
  path: string;
  /** What is there once the page is whole. */
  ready: string;
  before?: (page: Page) => Promise<void>;
}

async function photographed(page: Page, url: string, shot: Shot): Promise<void> {
  for (const theme of THEMES) {
    await page.evaluate((chosen) => localStorage.setItem('petra.theme', chosen), theme);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
      await page.goto(`${url}${shot.path}`);
      await expect(page.locator(shot.ready).first()).toBeAttached();
      if (width > 500) await shot.before?.(page);
      await settled(page);
      await page.screenshot({
        path: join(OUT, `${shot.name}-${theme}-${width}.png`),
        animations: 'disabled',
      });
    }
  }
}

/** Nothing is on its way: no skeleton stands, and two frames were drawn. A stream that is held open is never idle. */
async function settled(page: Page): Promise<void> {
  await expect(page.locator('[role=status][aria-label=loading]')).toHaveCount(0);
  for (let n = 0; n < 12; n++) await page.evaluate(() => new Promise(requestAnimationFrame));
}

test('pictures of every page', async ({ page }) => {
  test.setTimeout(600_000);
  mkdirSync(OUT, { recursive: true });
  const served = new Served();
  try {
    await served.start();
    await letIn(page, served);
    const url = served.said.url;
    for (const name of ['executions', 'playbooks', 'inbox', 'triggers', 'notifications'])
      await photographed(page, url, { name: `first-${name}`, path: `/${name}`, ready: 'h2' });
    for (const text of [FREIGHT, example('hello'), APPROVAL, CALLED, CALLING, FAILING, GATED, ASKING, TYPED])
      await served.apply(text);
    for (const text of [FAILING, GATED, APPROVAL, ASKING, LOOP]) await served.run(text, {}, { team: 'ops' });
    await served.run(example('hello'));
    await served.run(example('fan_out'));
    await served.call('PUT', '/schedules/nightly', { text: SCHEDULE });
    await served.call('PUT', '/triggers/orders', { text: TRIGGER });
    const calling = await served.run(CALLING);
    const freight = await served.run(FREIGHT);
    const signed = await served.run(APPROVAL);
    const { version } = await served.call<{ version: number }>('GET', `/executions/${signed}`);
    const fork = await served.call<{ id: string }>('POST', `/executions/${signed}/fork`, {
      at: version - 1,
      reason: 'what if it had been more',
    });
    await served.call('PATCH', `/executions/${fork.id}/ctx`, { values: { doubled: 99 }, reason: 'try' });
    await served.call('POST', `/executions/${signed}/signals/go`, {});
    const items = await served.call<{ items: { execution: string; id: string; title: string }[] }>(
      'GET',
      '/work-items?limit=10',
    );
    const item = items.items.find((one) => one.title.startsWith('Send'));
    const step = '[data-step="approve"]';
    const shots: Shot[] = [
      { name: 'executions', path: '/executions', ready: '[role=row]' },
      { name: 'execution', path: `/e/${freight}?sel=step:enrich`, ready: step },
      { name: 'explain', path: `/e/${freight}?sel=step:approve&tab=explain`, ready: `${step}, ${DETAILS}` },
      { name: 'past', path: `/e/${freight}?at=9&sel=step:compare`, ready: step },
      { name: 'net', path: `/e/${signed}?lens=net`, ready: '[title="wait.running"]' },
      { name: 'table', path: `/e/${freight}?table=yes`, ready: '[role=grid]' },
      { name: 'child', path: `/e/${calling}?sel=step:call`, ready: '[data-step="call"]', before: openChild },
      { name: 'family', path: `/e/${signed}?tab=family`, ready: `[data-step="count"], ${DETAILS}` },
      { name: 'compare', path: `/e/${signed}/diff/${fork.id}`, ready: '[data-step="count"]' },
      { name: 'playbooks', path: '/playbooks', ready: '[role=row]' },
      { name: 'playbook', path: '/p/freight', ready: '[data-step]' },
      { name: 'editor', path: '/edit/freight', ready: '.cm-content' },
      { name: 'tests', path: '/edit/freight?panel=tests', ready: 'h2' },
      { name: 'simulate', path: '/edit/freight?panel=simulate', ready: '[data-step]' },
      { name: 'inbox', path: `/inbox?box=open&item=${item?.execution}/${item?.id}`, ready: 'h2' },
      { name: 'schedules', path: '/schedules', ready: 'h1' },
      { name: 'schedule-editor', path: '/schedules?edit=nightly', ready: '[aria-label="The next times"]' },
      { name: 'triggers', path: '/triggers', ready: 'article' },
      { name: 'workers', path: '/workers', ready: 'h1' },
      { name: 'system', path: '/system', ready: 'h1' },
      { name: 'audit', path: '/system?tab=audit', ready: '[role=row]' },
      { name: 'missing', path: '/e/never', ready: 'h2' },
    ];
    const only = process.env.PETRA_ONLY?.split(',');
    for (const shot of shots) {
      if (!only || only.includes(shot.name)) await photographed(page, url, shot);
    }
  } finally {
    await served.close();
  }
});

async function openChild(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'The execution that call started' }).click();
  await expect(page.locator('[data-child-step="inner"]')).toBeAttached();
  await page.getByRole('button', { name: 'All of it' }).click();
}
