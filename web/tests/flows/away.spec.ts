/** The server is killed while a page is open, whichever it is: it says so, keeps what it shows, and goes on. */
import type { Page } from '@playwright/test';
import { APPROVAL, ASKING, SCHEDULE, TRIGGER, TYPED } from './books';
import { example, expect, letIn, type Served, test } from './serving';

/** Where, what stands there with data, and what it shows once the server is back, of what came meanwhile. */
interface Kind {
  path: string;
  there: string;
  /** Do something that the page must show; say where it does. */
  goesOn?: (served: Served) => Promise<string>;
}

async function started(served: Served): Promise<string> {
  const id = await served.run(example('hello'));
  return `[role=row] [title="${id}"]`;
}

async function asked(served: Served): Promise<string> {
  await served.run(ASKING.replace('Pay 12 500?', 'Pay 99?'));
  return '[role=row]:has-text("Pay 99?")';
}

const applied = async (served: Served) => {
  await served.apply(example('hello').replace('name: hello', 'name: welcome'));
  return '[role=row] a:has-text("welcome")';
};

function kinds(id: string, other: string, item: string): Kind[] {
  return [
    { path: 'executions', there: '[role=row] a', goesOn: started },
    { path: `inbox?box=open&item=${item}`, there: '[aria-label=Form] input', goesOn: asked },
    { path: 'playbooks', there: '[role=row] a', goesOn: applied },
    { path: `e/${id}/diff/${other}`, there: '[data-step="count"]' },
    { path: 'edit/typed', there: '[data-step="a"]' },
    { path: 'schedules', there: 'article' },
    { path: 'workers', there: '[role=row]' },
    { path: 'system?tab=audit', there: '[role=row]' },
  ];
}

/** So many pages at once: a browser has six connections to a server, and each page keeps one of them. */
const AT_ONCE = 3;

test('16 the server is killed under every kind of page: each says so, keeps what it shows, and goes on', async ({
  page,
  served,
}) => {
  for (const text of [APPROVAL, ASKING, TYPED]) await served.apply(text);
  await served.call('PUT', '/schedules/nightly', {
    text: SCHEDULE.replace('playbook: hello', 'playbook: typed'),
  });
  await served.call('PUT', '/triggers/orders', { text: TRIGGER });
  const [id, other] = [await served.run(APPROVAL), await served.run(APPROVAL)];
  await served.run(ASKING);
  const { items } = await served.call<{ items: { execution: string; id: string }[] }>('GET', '/work-items');
  await letIn(page, served);
  await page.goto('about:blank');
  const all = kinds(id, other, `${items[0]?.execution}/${items[0]?.id}`);
  for (let n = 0; n < all.length; n += AT_ONCE) {
    const some = all.slice(n, n + AT_ONCE);
    const open: [Kind, Page][] = [];
    for (const kind of some) {
      const tab = await page.context().newPage();
      await tab.goto(`${served.said.url}/${kind.path}`);
      await expect(tab.locator(kind.there).first(), kind.path).toBeVisible();
      await expect(tab.getByTestId('connection'), kind.path).toContainText('connected');
      open.push([kind, tab]);
    }
    await served.end('SIGKILL');
    for (const [kind, tab] of open) {
      await expect(tab.getByTestId('connection'), kind.path).toContainText('offline');
      await expect(tab.locator(kind.there).first(), `${kind.path} keeps what it shows`).toBeVisible();
      await expect(tab.getByRole('heading', { level: 1 }), kind.path).toHaveCount(1);
    }
    await served.start();
    for (const [kind, tab] of open) {
      await expect(tab.getByTestId('connection'), kind.path).toContainText('connected');
      const shown = await kind.goesOn?.(served);
      if (shown) await expect(tab.locator(shown), `${kind.path} shows it once`).toHaveCount(1);
      await expect(tab.locator(kind.there).first(), kind.path).toBeVisible();
      await expect(tab.getByRole('alert'), `${kind.path} has nothing to complain of`).toHaveCount(0);
      await tab.close();
    }
  }
});
