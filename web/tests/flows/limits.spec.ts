import { expect, isAccessible, type Served, test } from './serving';

/** One of them at a time, and a resource that the server has. */
const LIMITED = `apiVersion: petra/v1
kind: Playbook
metadata: {name: limited}
executor:
  spec:
    concurrency: {limit: 1, on_limit: queue}
    resources: {warehouse: server}
workflow:
  - step: load
    spec: {policy: {resources: [{name: warehouse, units: 1}]}}
    tool: {kind: human, title: Load it?}
`;

const WAREHOUSE = `apiVersion: petra/v1
kind: Resource
metadata: {name: warehouse}
units: 2
`;

async function started(served: Served): Promise<string> {
  // who waits for its turn does not rest
  const made = await served.call<{ id: string }>('POST', '/executions', { playbook: 'limited' }, 0);
  return made.id;
}

test('who waits for a limit sees its number in line, in the list, on its page and beside the workers', async ({
  inside: page,
  served,
}) => {
  await served.call('PUT', '/limits/resources/warehouse', { text: WAREHOUSE });
  await served.apply(LIMITED);
  const [first, second, third] = [await started(served), await started(served), await started(served)];

  await page.goto(`${served.said.url}/workers`);
  const card = page.getByRole('region', { name: 'Limits' });
  await expect(card.getByRole('list', { name: 'Resources' })).toContainText(
    'warehouse 1 of 2 in use · 0 waiting',
  );
  await card.getByText('limit of limited · 1 in use · 2 waiting').click();
  const href = (id: string) => new RegExp(`/e/${id}$`);
  const held = card.getByRole('list', { name: 'In', exact: true }).getByRole('link');
  const queue = card.getByRole('list', { name: 'Waiting, in order' }).getByRole('link');
  await expect(held.first()).toHaveAttribute('href', href(first));
  await expect(queue.first()).toHaveAttribute('href', href(second));
  await expect(queue.nth(1)).toHaveAttribute('href', href(third));
  await isAccessible(page);

  await queue.nth(1).click();
  await expect(page.getByText('number 2 of 2 in line').first()).toBeVisible();
  await page.getByRole('tab', { name: 'Explain' }).click();
  const told = page.getByText('for the limit of limited').first();
  await expect(told).toContainText('1 of 1 in use by');
  await expect(told.getByRole('link')).toHaveAttribute('href', href(first));
  await isAccessible(page);

  await page.goto(`${served.said.url}/executions?playbook=limited`);
  const row = (id: string) => page.getByRole('row').filter({ has: page.locator(`[title="${id}"]`) });
  await expect(row(second)).toContainText('number 1 in line');
  await expect(row(third)).toContainText('number 2 in line');
  await expect(row(first)).not.toContainText('in line');
  await isAccessible(page);
  await served.call('POST', `/executions/${first}/cancel`, { reason: 'it is the turn of the next' });
  await expect(row(third)).toContainText('number 1 in line');
  await expect(row(second)).not.toContainText('in line');
  // nobody is asked any more: an inbox of other flows is theirs
  for (const id of [third, second])
    await served.call('POST', `/executions/${id}/cancel`, { reason: 'it was seen' });
});
