import { TYPED } from './books';
import { example, expect, isAccessible, test } from './serving';

test.describe('starting', () => {
  test('2 a form is made of the schema, what does not fit is said at its field, and it starts', async ({
    inside: page,
    served,
  }) => {
    await served.apply(TYPED);
    await page.goto(`${served.said.url}/p/typed`);
    await page.getByRole('button', { name: 'Start…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start an execution' });
    const amount = dialog.getByLabel('Amount');
    await expect(amount).toHaveValue('3');
    await amount.fill('0');
    await expect(dialog.getByText(/0 is less than/)).toBeVisible();
    await expect(dialog.getByRole('button', { name: 'Start' })).toHaveAttribute('aria-disabled', 'true');
    await isAccessible(page);
    await amount.fill('7');
    await dialog.getByLabel('Who').fill('eve');
    await expect(dialog.getByText(`"who":"eve"`)).toBeVisible();
    await dialog.getByText('Python', { exact: true }).click();
    await expect(dialog.getByText(/"who": "eve"/)).toBeVisible();
    await page.keyboard.press('Escape');
    await page.keyboard.press('s');
    await expect(dialog.getByText('What you filled in last time is here again.')).toBeVisible();
    await expect(dialog.getByLabel('Who')).toHaveValue('eve');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await page.waitForURL('**/e/**');
    await expect(page.locator('h1 + span')).toContainText('done');
    const id = new URL(page.url()).pathname.split('/').at(-1);
    expect(await served.call('GET', `/executions/${id}/result`)).toMatchObject({ amount: 7, who: 'eve' });
  });

  test('what the server alone refuses stands at its field too', async ({ inside: page, served }) => {
    await served.apply(TYPED);
    await page.goto(`${served.said.url}/p/typed`);
    await expect(page.getByRole('heading', { name: 'typed' })).toBeVisible();
    await page.keyboard.press('s');
    const dialog = page.getByRole('dialog', { name: 'Start an execution' });
    await expect(dialog.getByLabel('Amount')).toBeVisible();
    await dialog.getByText('JSON', { exact: true }).click();
    await dialog.getByRole('textbox', { name: 'Workload' }).fill('{"amount": 1, "who": "x"}');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await expect(dialog.getByRole('alert').first()).toContainText('the workload does not fit: who:');
    await dialog.getByText('Fields', { exact: true }).click();
    await expect(dialog.getByText(/shorter than 2 characters/).last()).toBeVisible();
  });

  test('a text that is not applied is started from the editor', async ({ inside: page, served }) => {
    await served.apply(example('hello'));
    await page.goto(`${served.said.url}/edit/hello`);
    await page.getByRole('button', { name: 'Run…' }).click();
    const dialog = page.getByRole('dialog', { name: /Start this text/ });
    await dialog.getByLabel('name').fill('Eve');
    await expect(dialog.getByText(/petra run hello.yaml/)).toBeVisible();
    await dialog.getByRole('button', { name: 'Start' }).click();
    await page.waitForURL('**/e/**');
    await expect(page.locator('h1 + span')).toContainText('done');
  });
});
