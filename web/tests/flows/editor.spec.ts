import { STUCK } from './books';
import { example, expect, isAccessible, type Served, test } from './serving';

const TEXT = 'The text of the playbook';
const TEST_FILE = 'The test file';

async function halves(served: Served): Promise<void> {
  await served.call('PUT', '/playbooks/halves?allow_unsound=true', { text: STUCK });
}

test.describe('trying a text out', () => {
  test('21 tests run, their coverage stands on the graph, and a failed case is played', async ({
    inside: page,
    served,
  }) => {
    await served.apply(example('hello'));
    await page.goto(`${served.said.url}/edit/hello?panel=tests`);
    await expect(page.getByRole('heading', { name: 'No case yet' })).toBeVisible();
    await isAccessible(page);
    await page.getByLabel('A test file').setInputFiles({
      name: 'hello.test.yaml',
      mimeType: 'application/yaml',
      buffer: Buffer.from(example('hello.test').replace('Hello, Ada!', 'Hello, Eve!')),
    });
    await expect(page.getByLabel(TEST_FILE)).toContainText('kind: Test');
    await page.keyboard.press('ControlOrMeta+Enter');
    await expect(page.getByTestId('tested')).toContainText('1 passed, 1 failed');
    const cases = page.getByRole('list', { name: 'Cases' });
    await cases.getByRole('button', { name: /whom to greet/ }).click();
    await expect(page).toHaveURL(/case=/);
    const shown = page.getByRole('region', { name: /The case/ });
    await expect(shown).toContainText('expected "Hello, Eve!", got "Hello, Ada!"');
    await expect(shown.locator('[data-step="greet"]')).toHaveAttribute('data-state', 'done');
    await shown.getByRole('slider', { name: 'Record' }).press('Home');
    await expect(shown.getByRole('status')).toContainText('1 of ');
    await expect(page).toHaveURL(/at=1/);
    await isAccessible(page);
  });

  test('21 arcs that no case takes are marked', async ({ inside: page, served }) => {
    await halves(served);
    await page.goto(`${served.said.url}/edit/halves`);
    await page.getByRole('tab', { name: 'Tests' }).click();
    await page.getByRole('button', { name: 'Add a case' }).click();
    await page.getByRole('button', { name: 'Run the tests' }).click();
    await expect(page.getByTestId('tested')).toContainText('0 passed, 1 failed · 2 of 4 arcs taken (50 %)');
    await expect(page.locator('[data-arc="a b"]')).toContainText('1 ×');
    await expect(page.locator('[data-arc="a c"]')).toContainText('never');
    await expect(page.locator('[data-arc="a c"]')).toHaveAttribute('data-missed', 'true');
    const arcs = page.getByRole('region', { name: 'Arcs and cases' });
    await arcs.getByLabel('Which cases take an arc').selectOption({ label: 'a → c: never' });
    await expect(arcs).toContainText('No case takes it');
    await arcs.getByLabel('Which cases take an arc').selectOption({ label: 'a → b: 1 ×' });
    await arcs.getByRole('button', { name: 'all goes well' }).click();
    await expect(page).toHaveURL(/case=/);
    await page.getByRole('button', { name: 'Coverage of all cases' }).click();
    await isAccessible(page);
  });

  test('words are explained where one points, the outline leads to steps, and what is applied is tested', async ({
    inside: page,
    served,
  }) => {
    const text = example('fan_out').replace('name: fan_out', 'name: hinted');
    await served.apply(text);
    await page.goto(`${served.said.url}/edit/hinted`);
    const pane = page.getByLabel(TEXT);
    await pane.getByText('workflow', { exact: true }).first().hover();
    await expect(page.getByRole('tooltip')).toContainText('workflow');
    const outline = page.getByRole('navigation', { name: 'Outline' });
    const last = outline.getByRole('button').last();
    await last.click();
    await expect(last).toHaveAttribute('aria-current', 'true');
    await expect(pane).toBeFocused();
    await page.keyboard.press('ControlOrMeta+i');
    await expect(page.getByRole('tooltip')).toContainText('step');
    await page.keyboard.press('Escape');
    await expect(page.getByRole('tooltip')).toHaveCount(0);
    await isAccessible(page);
    await page.getByRole('tab', { name: 'Tests' }).click();
    await page.getByRole('button', { name: 'Add a case' }).click();
    await expect(page.getByTestId('tested')).toHaveCount(0);
    await pane.click();
    await page.keyboard.press('ControlOrMeta+Home');
    await page.keyboard.type('# mine\n');
    await expect(page.getByRole('button', { name: 'Apply', exact: true })).not.toHaveAttribute(
      'aria-disabled',
      'true',
    );
    await page.keyboard.press('ControlOrMeta+s');
    await expect(page.getByText('Applied', { exact: true })).toBeVisible();
    await expect(page.getByTestId('tested')).toBeVisible();
  });

  test('what would make an unsound text sound is tried, and put into the text', async ({
    inside: page,
    served,
  }) => {
    await halves(served);
    await page.goto(`${served.said.url}/edit/halves`);
    await page.getByRole('button', { name: 'What would fix it?' }).click();
    const found = page.getByRole('region', { name: 'What would fix it' });
    await expect(found).toContainText("for the join 'j'");
    await isAccessible(page);
    await found.getByRole('button', { name: 'Change it' }).first().click();
    await expect(page.getByText(/^sound/)).toBeVisible();
    await expect(found).toBeHidden();
  });

  test('20 a way to get stuck becomes a test', async ({ inside: page, served }) => {
    await halves(served);
    await page.goto(`${served.said.url}/edit/halves`);
    await page.getByRole('button', { name: 'Make it a test' }).click();
    await expect(page).toHaveURL(/panel=tests/);
    await expect(page.getByLabel(TEST_FILE)).toContainText('does not get stuck');
    await page.keyboard.press('ControlOrMeta+Enter');
    await expect(page.getByRole('list', { name: 'Cases' })).toContainText(
      'expected "completed", got "failed"',
    );
  });

  test('a walk is chosen step by step, taken back, and kept as a test', async ({ inside: page, served }) => {
    await served.apply(example('hello'));
    await page.goto(`${served.said.url}/edit/hello?panel=simulate`);
    const next = page.getByRole('region', { name: 'What happens next?' });
    await expect(next).toContainText('greet');
    await next.getByLabel(/Result/).fill('{');
    await next.getByRole('button', { name: 'ok' }).click();
    await expect(next).toContainText('this is no JSON');
    await next.getByRole('button', { name: 'error' }).click();
    const panel = page.getByRole('tabpanel');
    await expect(panel.getByText('failed', { exact: true }).first()).toBeVisible();
    await expect(panel.locator('[data-step="greet"]')).toHaveAttribute('data-state', 'failed');
    await page.getByRole('button', { name: 'Take back' }).click();
    await next.getByLabel(/Result/).fill('"Hi"');
    await next.getByRole('button', { name: 'ok' }).click();
    await expect(panel.locator('[data-step="greet"]')).toHaveAttribute('data-state', 'done');
    await isAccessible(page);
    await page.getByRole('button', { name: 'Make it a test' }).click();
    await page.keyboard.press('ControlOrMeta+Enter');
    await expect(page.getByTestId('tested')).toContainText('1 passed');
  });
});

test.describe('versions', () => {
  test('19 somebody else applied meanwhile: both are shown, and merged', async ({ inside: page, served }) => {
    const text = example('hello').replace('name: hello', 'name: both');
    await served.apply(text);
    await page.goto(`${served.said.url}/edit/both`);
    const pane = page.getByLabel(TEXT);
    await expect(pane).toContainText('Greets somebody.');
    await served.apply(text.replace('Greets somebody.', 'Greets anybody.'));
    await expect(pane, 'a text that nobody changed follows').toContainText('Greets anybody.');
    await pane.click();
    await page.keyboard.press('ControlOrMeta+Home');
    await page.keyboard.type('# mine\n');
    await served.apply(text.replace('Greets somebody.', 'Greets everybody.'));
    await expect(page.getByRole('button', { name: 'applied by somebody else meanwhile' })).toBeVisible();
    await expect(pane).toContainText('# mine');
    const conflict = page.getByRole('region', { name: /Somebody else applied/ });
    await expect(conflict, 'nothing moves under the hand').toHaveCount(0);
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await expect(conflict.getByLabel('What they changed')).toContainText('everybody');
    await expect(conflict.getByLabel('What you changed')).toContainText('# mine');
    await isAccessible(page);
    await conflict.getByRole('button', { name: 'Merge both' }).click();
    await expect(conflict).toBeHidden();
    await expect(pane).toContainText('# mine');
    await expect(pane).toContainText('Greets everybody.');
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await expect(page.getByText('Applied', { exact: true })).toBeVisible();
  });

  test('what is applied while the page opens is not missed', async ({ inside: page, served }) => {
    const text = example('hello').replace('name: hello', 'name: meanwhile');
    await served.apply(text);
    let open = () => {};
    const held = new Promise<void>((resolve) => {
      open = resolve;
    });
    await page.route('**/stream?topics=playbooks*', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${served.said.url}/edit/meanwhile`);
    const pane = page.getByLabel(TEXT);
    await expect(pane).toContainText('Greets somebody.');
    await served.apply(text.replace('Greets somebody.', 'Greets anybody.'));
    open();
    await expect(pane).toContainText('Greets anybody.');
  });

  test('comments are kept as they were applied, and make no version', async ({ inside: page, served }) => {
    await served.apply(`# why\n${example('hello').replace('name: hello', 'name: told')}`);
    await page.goto(`${served.said.url}/edit/told`);
    const pane = page.getByLabel(TEXT);
    await expect(pane).toContainText('# why');
    await pane.click();
    await page.keyboard.press('ControlOrMeta+Home');
    await page.keyboard.type('# mine\n');
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await expect(page.getByText('Applied', { exact: true })).toBeVisible();
    await page.reload();
    await expect(pane).toContainText('# mine');
    await page.goto(`${served.said.url}/p/told?tab=source`);
    await expect(page.getByText('# mine')).toBeVisible();
    await page.getByRole('tab', { name: 'Versions' }).click();
    await expect(page.getByText('runs now')).toHaveCount(1);
    await expect(page.getByRole('link', { name: 'what changed' })).toHaveCount(0);
  });

  test('two versions are held against each other', async ({ inside: page, served }) => {
    const text = example('hello').replace('name: hello', 'name: aged');
    await served.apply(text);
    await served.apply(text.replace('Greets somebody.', 'Greets everybody.'));
    await page.goto(`${served.said.url}/p/aged?tab=versions`);
    await page.getByRole('link', { name: 'what changed' }).click();
    const changed = page.getByRole('region', { name: /^From / });
    await expect(changed).toContainText('Greets everybody.');
    await expect(changed).toContainText('Greets somebody.');
    await expect(changed).not.toContainText('written in');
    await isAccessible(page);
    await page.getByRole('button', { name: 'Light theme' }).click();
    await isAccessible(page);
  });
});
