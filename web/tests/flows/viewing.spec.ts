import { APPROVAL } from './books';
import { example, expect, test } from './serving';

test('where a stream cannot be held the page asks instead, and says so', async ({ inside: page, served }) => {
  const id = await served.run(APPROVAL);
  await page.route(/\/stream\?/, (route) => route.abort());
  await page.goto(`${served.said.url}/e/${id}`);
  await expect(page.getByTestId('connection')).toContainText('asking every 2 s');
  await served.call('POST', `/executions/${id}/signals/go`, {});
  await expect(page.locator('h1 + span')).toContainText('done');
  const total = Number(await page.getByRole('slider', { name: 'Record' }).getAttribute('aria-valuemax'));
  expect(total).toBe((await served.call<{ version: number }>('GET', `/executions/${id}`)).version);
});

test('the address holds where the graph is looked at from, and which stretch of time', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(example('fan_out'));
  await page.goto(`${served.said.url}/e/${id}`);
  await expect(page.locator('[data-step]').first()).toBeVisible();
  const graph = page.getByRole('application', { name: /Steps and arcs/ });
  const box = (await graph.boundingBox())!;
  await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
  await page.mouse.wheel(0, -300);
  await expect(page).toHaveURL(/cam=-?\d+,-?\d+,[\d.]+/);
  const seen = async () => {
    const style = (await page.locator('.react-flow__viewport').getAttribute('style')) ?? '';
    return (style.match(/-?[\d.]+/g) ?? []).map(Number);
  };
  const camera = new URL(page.url()).searchParams.get('cam');
  const drawn = await seen();
  await page.reload();
  const isNear = async () => (await seen()).every((one, n) => Math.abs(one - (drawn[n] ?? 0)) < 4);
  await expect.poll(isNear, 'to the pixel or so: the address is rounded').toBe(true);
  expect(new URL(page.url()).searchParams.get('cam')).toBe(camera);
  await page.keyboard.press('f');
  await expect(page).not.toHaveURL(/cam=/);
  const timeline = page.getByRole('region', { name: 'Timeline' });
  await timeline.getByRole('button', { name: 'A shorter time' }).click();
  await expect(page).toHaveURL(/x=\d+\.\.\d+/);
  await expect(timeline).toContainText('shown');
  const lanes = (await timeline.getByRole('img').boundingBox())!;
  const before = page.url();
  await page.mouse.move(lanes.x + 20, lanes.y + 8);
  await page.mouse.down();
  await page.mouse.move(lanes.x + 120, lanes.y + 8);
  await page.mouse.up();
  await expect(page).not.toHaveURL(before);
  await timeline.getByRole('button', { name: 'All of the time' }).click();
  await expect(page).not.toHaveURL(/[?&]x=/);
  await page.getByRole('button', { name: 'Panes' }).click();
  await page.getByRole('menuitem', { name: 'Hide the timeline' }).click();
  await expect(timeline).toHaveCount(0);
  await expect(page).toHaveURL(/show=graph,log,side/);
  await page.reload();
  await expect(graph).toBeVisible();
  await expect(timeline).toHaveCount(0);
  await page.getByRole('button', { name: 'Panes' }).click();
  await page.getByRole('menuitem', { name: 'Show the timeline' }).click();
  await expect(timeline).toBeVisible();
  await expect(page).not.toHaveURL(/show=/);
});

test('beads travel when the story goes on, and not for those who want no motion', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(example('fan_out'));
  for (const motion of ['no-preference', 'reduce'] as const) {
    await page.emulateMedia({ reducedMotion: motion });
    await page.goto(`${served.said.url}/e/${id}?at=2`);
    await expect(page.locator('[data-step]').first()).toBeVisible();
    await page.evaluate(() => {
      const found = window as unknown as { beads: number };
      found.beads = 0;
      new MutationObserver(() => {
        found.beads = Math.max(found.beads, document.querySelectorAll('[data-testid=travelling] > g').length);
      }).observe(document.body, { childList: true, subtree: true });
    });
    await page.getByLabel('Speed').selectOption('100');
    await page.getByRole('slider', { name: 'Record' }).focus();
    await page.keyboard.press('Space');
    await expect(page.getByText('As it was at record')).toHaveCount(0);
    const beads = await page.evaluate(() => (window as unknown as { beads: number }).beads);
    if (motion === 'reduce') expect(beads).toBe(0);
    else expect(beads).toBeGreaterThan(0);
    await expect(page.getByTestId('travelling')).toHaveCount(0);
  }
});

test('17 the net lens keeps the selection; the log is verified', async ({ inside: page, served }) => {
  const id = await served.run(APPROVAL);
  await page.goto(`${served.said.url}/e/${id}?sel=step:wait`);
  await expect(page.locator('[data-step="wait"]')).toHaveAttribute('data-state', 'waiting');
  await page.keyboard.press('n');
  await expect(page).toHaveURL(/lens=net/);
  await expect(page).toHaveURL(/sel=step:wait/);
  await expect(page.getByTitle('wait.running')).toHaveAttribute('data-tokens', '1');
  await page.keyboard.press('Shift+V');
  await page.getByRole('dialog').getByRole('button', { name: 'Verify the log' }).click();
  await expect(page.getByText('The log is as it was written')).toBeVisible();
});

test('an execution that there is not is a problem with a next move, and so is a page', async ({
  inside: page,
  served,
}) => {
  await page.goto(`${served.said.url}/e/never`);
  await expect(page.getByRole('status').filter({ hasText: 'unknown-execution' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Retry' })).toBeVisible();
  await page.goto(`${served.said.url}/e/never/was/here`);
  await expect(page.getByText('There is no such page')).toBeVisible();
});

test('what is lost on its way to the server is asked for again, by each part of a page', async ({
  inside: page,
  served,
}) => {
  const id = await served.run(APPROVAL);
  const times = new Map<string, number>();
  await page.route('**/api/v1/**', (route) => {
    const { pathname } = new URL(route.request().url());
    const before = times.get(pathname) ?? 0;
    times.set(pathname, before + 1);
    return before < 2 ? route.abort('connectionreset') : route.continue();
  });
  await page.goto(`${served.said.url}/e/${id}`);
  await expect(page.locator('[data-step="wait"]')).toHaveAttribute('data-state', 'waiting');
  await expect(page.getByTestId('connection')).toContainText('connected');
  await expect(page.getByText('The server does not answer')).toHaveCount(0);
  expect([...times.keys()].filter((path) => path.endsWith('/frames'))).toHaveLength(1);
});
