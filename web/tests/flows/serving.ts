/** A real server in a process of its own, and a browser that is let in. Whatever becomes of a flow, both end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Browser, test as base, expect, type Page } from '@playwright/test';
import { AxeBuilder } from './axe';

const ROOT = join(import.meta.dirname, '../../..');
export const PETRA = process.env.PETRA || join(ROOT, '.venv/bin/petra');

interface Said {
  url: string;
  login_url: string;
  token: string;
}

/** So many letters of its log are kept with a flow that failed. */
const LAST_WORDS = 6000;

export class Served {
  readonly home = mkdtempSync(join(tmpdir(), 'petra-flow-'));
  readonly #log = join(this.home, 'log');
  #process: ChildProcess | null = null;
  port = 0;
  said: Said = { url: '', login_url: '', token: '' };

  async start(): Promise<void> {
    this.port ||= await portToComeBackTo();
    const child = spawn(
      PETRA,
      ['serve', '--home', join(this.home, '.petra'), '--port', String(this.port), '-o', 'json'],
      {
        stdio: ['ignore', 'pipe', openSync(this.#log, 'a')],
        env: { ...process.env, NO_COLOR: '1' },
      },
    );
    this.#process = child;
    const lines = createInterface({ input: child.stdout! });
    const line = await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve);
      child.once('exit', (code) =>
        reject(new Error(`petra serve ended with ${code}: ${readFileSync(this.#log, 'utf8')}`)),
      );
    });
    this.said = JSON.parse(line) as Said;
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }

  /** Whether it runs, and what it said last: for a flow that failed. */
  lastWords(): string {
    const { exitCode, signalCode } = this.#process ?? {};
    const ended = exitCode ?? signalCode ?? 'it runs';
    return `${ended}\n${readFileSync(this.#log, 'utf8').slice(-LAST_WORDS)}`;
  }

  /** Ask the server; what is started has ended or rests by then, unless one does not wait for it so many seconds. */
  async call<T>(method: string, path: string, body?: unknown, wait = 60): Promise<T> {
    const answer = await fetch(`${this.said.url}/api/v1${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.said.token}`,
        'Content-Type': 'application/json',
        ...(wait ? { Prefer: `wait=${wait}` } : {}),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /** Start a playbook; it has ended or rests when this is over. */
  async run(text: string, workload: object = {}, labels: object = {}): Promise<string> {
    const made = await this.call<{ id: string }>('POST', '/executions', {
      playbook: { text },
      workload,
      labels,
    });
    return made.id;
  }

  async apply(text: string): Promise<void> {
    await this.call('POST', '/playbooks', { text });
  }

  async close(): Promise<void> {
    await this.end();
    rmSync(this.home, { recursive: true, force: true });
  }
}

const FIRST_PORT = 30_000;
const PORTS = 2_000;
const OWN_PORTS = 20;
let port = FIRST_PORT + ((process.pid * OWN_PORTS) % PORTS);

/** A port that nobody is given by chance while the server that comes back to it is away: systems give out higher ones. */
async function portToComeBackTo(): Promise<number> {
  for (let tried = 0; tried < PORTS; tried++) {
    port = FIRST_PORT + ((port + 1 - FIRST_PORT) % PORTS);
    if (await isFree(port)) return port;
  }
  throw new Error('every port is taken');
}

function isFree(wanted: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(wanted, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

export function example(name: string): string {
  return readFileSync(join(ROOT, 'examples', `${name}.yaml`), 'utf8');
}

interface Fixtures {
  /** A page that is let in; where it goes first is said by the flow. */
  inside: Page;
}
interface WorkerFixtures {
  served: Served;
}

export const test = base.extend<Fixtures & { watched: undefined }, WorkerFixtures>({
  served: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern here
    async ({}, use) => {
      const served = new Served();
      try {
        await served.start();
        await use(served);
      } finally {
        await served.close();
      }
    },
    { scope: 'worker' },
  ],
  watched: [
    async ({ page, served }, use, about) => {
      const wrong: string[] = [];
      const lost: string[] = [];
      const all = page.context(); // and the pages that a flow opens beside it
      all.on('requestfailed', (one) => {
        const why = one.failure()?.errorText ?? '';
        if (why !== 'net::ERR_ABORTED') lost.push(`${why} ${one.method()} ${one.url()}`); // a page that is left asks no more
      });
      all.on('weberror', (one) => wrong.push(`error: ${one.error().message}`));
      all.on('console', (message) => {
        if (/Content Security Policy|violates/.test(message.text())) wrong.push(`policy: ${message.text()}`);
      });
      await use(undefined);
      const isFailed = about.status !== about.expectedStatus;
      if (isFailed) await about.attach('the server', { body: served.lastWords(), contentType: 'text/plain' });
      if (isFailed && lost.length)
        await about.attach('what the page asked in vain', {
          body: lost.join('\n'),
          contentType: 'text/plain',
        });
      expect(wrong, 'the page breaks nowhere, and the policy is violated nowhere').toEqual([]);
    },
    { auto: true },
  ],
  inside: async ({ page, served }, use) => {
    const code = await served.call<{ csrf: string }>('GET', '/me');
    expect(code).toBeTruthy();
    await letIn(page, served);
    await use(page);
  },
});

const kept = new WeakMap<Served, { value: string; at: string }>();

/** Let a page in: the code that the server printed is used once, its cookie by all that come after. */
export async function letIn(page: Page, served: Served): Promise<void> {
  const known = kept.get(served);
  const url = new URL(served.said.url);
  if (known?.at === served.said.login_url) {
    await page
      .context()
      .addCookies([{ name: 'petra_session', value: known.value, domain: url.hostname, path: '/' }]);
    return;
  }
  await page.goto(served.said.login_url);
  await page.waitForURL('**/executions');
  const cookie = (await page.context().cookies()).find((one) => one.httpOnly);
  if (cookie) kept.set(served, { value: cookie.value, at: served.said.login_url });
}

const WORD = 'correct horse battery';

/** A browser of somebody else, who came in by name and password. */
export async function loggedIn(browser: Browser, served: Served, name: string): Promise<Page> {
  await served.call('POST', '/users', { name, roles: ['admin'], password: WORD });
  const page = await (await browser.newContext()).newPage();
  await page.goto(served.said.url);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(WORD);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL('**/executions');
  return page;
}

/** Nothing on the page that keeps somebody out. */
export async function isAccessible(page: Page): Promise<void> {
  const found = await AxeBuilder(page);
  expect(found).toEqual([]);
}

export { expect };
