/** What the pages cost, measured in a real browser: `python benchmarks/ui.py` runs this and writes the table. */
import { appendFileSync } from 'node:fs';
import type { Browser, Page } from '@playwright/test';
import { APPROVAL, CALLED, MANY } from '../flows/books';
import { expect, test } from '../flows/serving';
import { pouring, pretend, wide } from './made';

const OUT = process.env.PETRA_MEASURED;

function note(what: string, value: number, unit: string): void {
  console.log(`${what}: ${value.toFixed(1)} ${unit}`);
  if (OUT) appendFileSync(OUT, `${JSON.stringify({ what, value, unit })}\n`);
}

interface Frames {
  fps: number;
  p95: number;
  longest: number;
}

/** What became of frames while something was done. */
async function frames(page: Page, during: () => Promise<void>): Promise<Frames> {
  await page.evaluate(() => {
    const kept = window as unknown as { times: number[]; on: boolean };
    kept.times = [];
    kept.on = true;
    const tick = (now: number) => {
      kept.times.push(now);
      if (kept.on) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await during();
  const times = await page.evaluate(() => {
    const kept = window as unknown as { times: number[]; on: boolean };
    kept.on = false;
    return kept.times;
  });
  const gaps = times.slice(1).map((time, n) => time - times[n]!);
  const sorted = [...gaps].sort((a, b) => a - b);
  const total = (times.at(-1) ?? 0) - (times[0] ?? 0);
  return {
    fps: (gaps.length * 1000) / Math.max(1, total),
    p95: sorted[Math.floor(sorted.length * 0.95)] ?? 0,
    longest: sorted.at(-1) ?? 0,
  };
}

/** Milliseconds of processor time that the browser took while something was done: what others do is no part of that. */
async function worked(browser: Browser, during: () => Promise<void>): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const spent = async () => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return processInfo.reduce((sum, one) => sum + one.cpuTime, 0);
  };
  const before = await spent();
  await during();
  const after = await spent();
  await session.detach();
  return (after - before) * 1000;
}

/** Milliseconds from the beginning of a visit until something holds, as the page's own clock has it. */
async function visited(page: Page, url: string, selector: string): Promise<number> {
  await page.goto('about:blank');
  await page.addInitScript((wanted) => {
    const look = () => {
      const kept = window as unknown as { usable?: number };
      if (kept.usable === undefined && document.querySelector(wanted)) kept.usable = performance.now();
      else if (kept.usable === undefined) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, selector);
  await page.goto(url);
  await page.waitForFunction(() => (window as unknown as { usable?: number }).usable !== undefined);
  return page.evaluate(() => (window as unknown as { usable: number }).usable);
}

/** The best of a few visits: other programs of a busy machine are no part of the page. */
async function best(times: number, measure: () => Promise<number>): Promise<number> {
  let found = Number.POSITIVE_INFINITY;
  for (let n = 0; n < times; n++) found = Math.min(found, await measure());
  return found;
}

test.setTimeout(280_000);

/** A page that has come to rest: what is around the view is there too. Nobody's hand is faster. */
const RESTED_MS = 600;

test('the list', async ({ inside: page, served }) => {
  for (let n = 0; n < 120; n++) {
    await fetch(`${served.said.url}/api/v1/executions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${served.said.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ playbook: { text: CALLED } }),
    });
  }
  const url = `${served.said.url}/executions`;
  let paint = Number.POSITIVE_INFINITY;
  const usable = await best(3, async () => {
    const time = await visited(page, url, '[role=gridcell] a');
    const painted = await page.evaluate(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.POSITIVE_INFINITY,
    );
    paint = Math.min(paint, painted);
    return time;
  });
  note('first contentful paint', paint, 'ms');
  note('list usable', usable, 'ms');
});

test('ten thousand iterations', async ({ inside: page, served }) => {
  const id = await served.run(MANY);
  const selector = '[data-testid=loop]';
  const url = `${served.said.url}/e/${id}?sel=step:each`;
  note('10,000 iterations usable', await best(3, () => visited(page, url, selector)), 'ms');
  await expect(page.getByTestId('loop')).toContainText('9,990 ok');
});

for (const [count, chains, length] of [
  [300, 10, 30],
  [1000, 20, 50],
] as const) {
  test(`${count} nodes`, async ({ inside: page, served, browser }) => {
    const id = await served.run(wide(chains, length));
    await page.goto(`${served.said.url}/e/${id}?focus=graph`);
    await expect(page.locator('[data-step]').first()).toBeVisible();
    await page.waitForTimeout(RESTED_MS);
    const box = (await page.getByRole('application', { name: /Steps and arcs/ }).boundingBox())!;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const [pans, zooms] = [60, 40];
    const pan = async () => {
      await page.mouse.move(x, y);
      await page.mouse.down();
      for (let n = 0; n < pans; n++)
        await page.mouse.move(x + Math.sin(n / 8) * 250, y + Math.cos(n / 8) * 150);
      await page.mouse.up();
    };
    const zoom = async () => {
      for (let n = 0; n < zooms; n++) await page.mouse.wheel(0, n < zooms / 2 ? -30 : 30);
    };
    let readable: Frames | undefined;
    let panned = 0;
    const spent = await worked(browser, async () => {
      readable = await frames(page, async () => {
        panned = await worked(browser, pan);
        await zoom();
      });
    });
    note(`${count} nodes, pan, readable: processor time of a move`, panned / pans, 'ms');
    note(`${count} nodes, zoom, readable: processor time of a move`, (spent - panned) / zooms, 'ms');
    note(`${count} nodes, pan and zoom, readable: fps`, readable!.fps, 'fps');
    note(`${count} nodes, pan and zoom, readable: p95`, readable!.p95, 'ms');
    note(`${count} nodes, pan and zoom, readable: processor time of a move`, spent / (pans + zooms), 'ms');
    await page.keyboard.press('f');
    const all = await frames(page, pan);
    note(`${count} nodes, all in view: fps`, all.fps, 'fps');
  });
}

test('very many records', async ({ inside: page, served, context }) => {
  const id = await served.run(APPROVAL);
  await pretend(page, 10_000);
  const url = `${served.said.url}/e/${id}?sel=step:count&level=all`;
  note('10,000 records usable', await best(3, () => visited(page, url, '[data-step=count]')), 'ms');
  await page.unrouteAll();
  await pretend(page, 100_000);
  note('100,000 records usable', await best(2, () => visited(page, url, '[data-index]')), 'ms');
  const grid = page.getByRole('grid', { name: 'Records' });
  const box = (await grid.boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.evaluate(() => {
    for (const one of document.querySelectorAll('[role=grid]')) one.scrollTop = 0;
  });
  const scrolled = await frames(page, async () => {
    for (let n = 0; n < 60; n++) await page.mouse.wheel(0, 400);
  });
  note('100,000 log rows, scrolled: fps', scrolled.fps, 'fps');
  const jump = await page.evaluate(async () => {
    const grid = [...document.querySelectorAll('[role=grid]')].find((one) => one.ariaLabel === 'Records')!;
    const begun = performance.now();
    grid.scrollTop = grid.scrollHeight;
    while (!grid.querySelector('[data-index="99999"]')) await new Promise(requestAnimationFrame);
    return performance.now() - begun;
  });
  note('100,000 log rows, jump to the end', jump, 'ms');
  const slider = page.getByRole('slider', { name: 'Record' });
  const track = (await slider.boundingBox())!;
  await page.mouse.move(track.x + 5, track.y + 15);
  await page.mouse.down();
  const dragged = await frames(page, async () => {
    for (let n = 0; n < 60; n++) await page.mouse.move(track.x + (track.width * n) / 60, track.y + 15);
  });
  await page.mouse.up();
  note('scrubber dragged over 100,000 records: fps', dragged.fps, 'fps');
  note('scrubber dragged over 100,000 records: p95', dragged.p95, 'ms');
  const session = await context.newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  note('memory of a tab on 100,000 records', usedSize / 1e6, 'MB');
});

test('a live run', async ({ inside: page, served, context, browser }) => {
  const [first, rate, seconds] = [1000, 1000, 20];
  const id = await served.run(APPROVAL);
  await pretend(page, first);
  await pouring(page, first, rate, seconds);
  const session = await context.newCDPSession(page);
  const memory = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  await page.goto(`${served.said.url}/e/${id}?sel=step:count&level=all`);
  await expect(page.locator('[data-index]').first()).toBeVisible();
  const before = await memory();
  await page.evaluate(() => {
    const kept = window as unknown as { long: number[] };
    kept.long = [];
    new PerformanceObserver((list) => {
      kept.long.push(...list.getEntries().map((one) => one.duration));
    }).observe({ type: 'longtask' });
  });
  let asked = 0;
  page.on('request', () => {
    asked += 1;
  });
  const last = first + rate * seconds;
  let seen: Frames | undefined;
  const spent = await worked(browser, async () => {
    seen = await frames(page, async () => {
      await page.evaluate(() => (window as unknown as { pour: () => void }).pour());
      await expect(page.getByTestId('record')).toHaveText(String(last), { timeout: 120_000 });
    });
  });
  const long = await page.evaluate(() => (window as unknown as { long: number[] }).long);
  note('1,000 records a second: fps', seen!.fps, 'fps');
  note('1,000 records a second: p95', seen!.p95, 'ms');
  note('1,000 records a second: longest frame', seen!.longest, 'ms');
  note('1,000 records a second: tasks over 50 ms', long.length, 'in 20 s');
  note('1,000 records a second: processor time', spent / seconds / 10, '%');
  note('1,000 records a second: requests', asked / seconds, 'a second');
  note(
    '1,000 records a second: memory of a record',
    (((await memory()) - before) * 1e6) / (rate * seconds),
    'bytes',
  );
});

test('a run that is watched for long', async ({ inside: page, served, context }) => {
  const id = await served.run(APPROVAL);
  const [first, rate, seconds] = [300_000, 20_000, 40];
  await pretend(page, first);
  await page.unroute(/\/stream\?/);
  await pouring(page, first, rate, seconds);
  const session = await context.newCDPSession(page);
  const memory = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  await page.goto(`${served.said.url}/e/${id}?sel=step:count&level=all`);
  await expect(page.locator('[data-index]').first()).toBeVisible();
  note('a watched run of 300,000 records: memory', await memory(), 'MB');
  await page.evaluate(() => (window as unknown as { pour: () => void }).pour());
  for (const share of [0.25, 0.5, 0.75, 1]) {
    const there = first + rate * seconds * share;
    await page.waitForFunction(
      (wanted) => Number(document.querySelector('[data-testid=record]')?.textContent) >= wanted,
      there,
      { timeout: 200_000 },
    );
    note(`a watched run of ${there.toLocaleString('en-US')} records: memory`, await memory(), 'MB');
  }
});

for (const count of [300_000, 1_000_000]) {
  const told = count.toLocaleString('en-US');
  test(`${told} records`, async ({ inside: page, served, context, browser }) => {
    const id = await served.run(APPROVAL);
    await pretend(page, count);
    let asked = 0;
    page.on('request', (one) => {
      asked += /\/frames\?/.test(one.url()) ? 1 : 0;
    });
    const url = `${served.said.url}/e/${id}?sel=step:count&level=all`;
    let spent = 0;
    const usable = await best(1, async () => {
      let time = 0;
      spent = await worked(browser, async () => {
        time = await visited(page, url, '[data-index]');
      });
      return time;
    });
    note(`${told} records usable`, usable, 'ms');
    note(`${told} records usable: processor time`, spent, 'ms');
    note(`${told} records usable: requests for them`, asked, 'requests');
    await expect(page.getByTestId('record')).toHaveText(String(count));
    const session = await context.newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    note(`memory of a tab on ${told} records`, usedSize / 1e6, 'MB');
    const track = (await page.getByRole('slider', { name: 'Record' }).boundingBox())!;
    await page.mouse.move(track.x + 5, track.y + 15);
    await page.mouse.down();
    let dragged: Frames | undefined;
    const work = await worked(browser, async () => {
      dragged = await frames(page, async () => {
        for (let n = 0; n < 30; n++) await page.mouse.move(track.x + (track.width * n) / 30, track.y + 15);
      });
    });
    await page.mouse.up();
    note(`scrubber dragged over ${told} records: p95`, dragged!.p95, 'ms');
    note(`scrubber dragged over ${told} records: processor time of a move`, work / 30, 'ms');
  });
}
