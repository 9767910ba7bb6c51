/** What a server must not have seen before, or not survive: one of its own, for all of these one after the other. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { APPROVAL, FAILING } from './books';
import { example, expect, isAccessible, letIn, PETRA, Served, test } from './serving';

const PYTHON = process.env.PETRA_PYTHON ?? join(dirname(PETRA), 'python');

let served: Served;
/** Somebody who is told of what failed, and answers as they are told to. */
let told: Server;
let answers = 410;

test.describe.configure({ mode: 'serial' });

test.beforeAll(async () => {
  told = createServer((_, answer) => answer.writeHead(answers).end());
  const port = await new Promise<number>((resolve) => {
    told.listen(0, '127.0.0.1', () => resolve((told.address() as AddressInfo).port));
  });
  served = new Served();
  mkdirSync(join(served.home, '.petra'), { mode: 0o700 });
  writeFileSync(
    join(served.home, '.petra/notify.yaml'),
    `apiVersion: petra/v1
kind: Notify
channels:
  hook: {kind: webhook, url: "http://127.0.0.1:${port}/in", allow_private: true}
rules:
  - {on: [failed], to: [hook]}
`,
  );
  await served.start();
});

test.afterAll(async () => {
  await served.close();
  told.close();
});

test('1 the first visit teaches, the tour starts, and what is applied can be started', async ({ page }) => {
  await letIn(page, served);
  await expect(page.getByRole('heading', { name: 'Nothing has run here yet' })).toBeVisible();
  await expect(page.getByText('petra run examples/hello.yaml')).toBeVisible();
  await isAccessible(page);
  await page.getByRole('button', { name: 'Start the tour' }).click();
  await page.waitForURL('**/e/**');
  await expect(page.locator('h1 + span')).toContainText('waiting · human');
  await expect(page.locator('[data-step="approve"]')).toHaveAttribute('data-state', 'waiting');
  await expect(page.locator('[data-step="enrich"]')).toHaveAttribute('data-state', 'partial');
  await served.apply(example('hello'));
  await page.getByRole('link', { name: 'Executions' }).click();
  await expect(page.getByRole('row').filter({ has: page.getByRole('gridcell') })).toHaveCount(1);
  await page.keyboard.press('s');
  const dialog = page.getByRole('dialog', { name: 'Start an execution' });
  await expect(dialog.getByLabel('Playbook')).toBeVisible();
  await dialog.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL('**/e/**');
  await expect(page.getByRole('heading', { name: /hello/ })).toBeVisible();
  await expect(page.locator('h1 + span').getByText('done')).toBeVisible();
});

test('what was given up is listed, said why, and sent again', async ({ page }) => {
  await letIn(page, served);
  await page.goto(`${served.said.url}/notifications`);
  await expect(page.getByRole('heading', { name: 'Nobody was told anything yet' })).toBeVisible();
  await isAccessible(page);
  await served.run(FAILING);
  const row = page.getByRole('row').filter({ hasText: 'Given up' });
  await expect(row).toContainText('it answered 410');
  await page.keyboard.press('j');
  const pane = page.getByRole('complementary', { name: 'The notification' });
  await expect(pane).toContainText('it answered 410');
  await isAccessible(page);
  answers = 200;
  await page.keyboard.press('r');
  const dialog = page.getByRole('dialog', { name: 'Send it again' });
  await expect(dialog.getByText(/petra notifications retry ntf/)).toBeVisible();
  await dialog.getByRole('button', { name: 'Send it again' }).click();
  await expect(page.getByRole('row').filter({ hasText: 'Sent' })).toHaveCount(1);
  await expect(pane.getByRole('button', { name: /Send it again/ })).toHaveAttribute('title', 'it was sent');
  await page.getByText('Needless', { exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Nothing matches' })).toBeVisible();
  await page.getByRole('button', { name: 'Show all' }).click();
  await expect(page.getByRole('row').filter({ hasText: 'Sent' })).toHaveCount(1);
});

test('16 the server is killed and comes back: it is said, then caught up, and nothing is there twice', async ({
  page,
}) => {
  const id = await served.run(APPROVAL);
  await letIn(page, served);
  await page.goto(`${served.said.url}/e/${id}?level=all`);
  const line = page.getByTestId('connection');
  await expect(line).toContainText('connected');
  await expect(page).toHaveURL(/sel=/);
  await page.keyboard.press('Escape');
  await expect(page).not.toHaveURL(/sel=/);
  await served.end('SIGKILL');
  await expect(line).toContainText('offline');
  await expect(page.locator('h1 + span')).toContainText('waiting');
  await expect(page.getByRole('button', { name: 'Pause…' })).toHaveAttribute('aria-disabled', 'true');
  await served.start();
  await expect(line).toContainText('connected');
  await served.call('POST', `/executions/${id}/signals/go`, {});
  await expect(page.locator('h1 + span')).toContainText('done');
  const { version } = await served.call<{ version: number }>('GET', `/executions/${id}`);
  const records = page.getByRole('slider', { name: 'Record' });
  await expect(records).toHaveAttribute('aria-valuemax', String(version));
  const log = page.getByRole('grid', { name: 'Records' });
  await expect(log).toHaveAttribute('aria-rowcount', String(version + 1));
});

test('17 a record that was tampered with is found and shown', async ({ page }) => {
  const id = await served.run(APPROVAL);
  await served.end('SIGTERM');
  const sql =
    "UPDATE records SET body = CAST(replace(CAST(body AS TEXT), 'count', 'cOunt') AS BLOB) WHERE place & 0xffffffff = 2";
  const code = 'import sys, apsw; apsw.Connection(sys.argv[1]).execute(sys.argv[2])';
  execFileSync(PYTHON, ['-c', code, join(served.home, '.petra/petra.db'), sql]);
  await served.start();
  await letIn(page, served);
  await page.goto(`${served.said.url}/e/${id}`);
  await expect(page).toHaveURL(/sel=/);
  await page.keyboard.press('Shift+V');
  await page.getByRole('dialog').getByRole('button', { name: 'Verify the log' }).click();
  await expect(page.getByText('The log was changed')).toBeVisible();
  await expect(page).toHaveURL(/sel=rec:2/);
  await expect(page.getByRole('heading', { name: 'Record 2' })).toBeVisible();
});
