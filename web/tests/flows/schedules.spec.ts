import type { Locator } from '@playwright/test';
import { SCHEDULE } from './books';
import { example, expect, isAccessible, test } from './serving';

const times = (box: Locator) => box.getByRole('list', { name: 'The next times' }).getByRole('listitem');

test('a schedule is written, looked ahead over a change of clocks, refused, mended, saved and changed', async ({
  inside: page,
  served,
}) => {
  await served.apply(example('hello'));
  await page.goto(`${served.said.url}/schedules`);
  await page.getByRole('button', { name: 'New schedule…' }).first().click();
  await expect(page).toHaveURL(/new=yes/);
  const ahead = page.getByRole('region', { name: 'When it is due' });
  await expect(ahead).toContainText('At 06:00 every day');

  await page.getByLabel('Name').fill('by-form');
  await page.getByLabel('Playbook').fill('hello');
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await page.getByLabel('Cron line').fill('30 2 * * *');
  await page.getByLabel('From').fill('2027-03-27');
  await expect(ahead).toContainText('At 02:30 every day, by the clocks of Europe/Berlin');
  await expect(times(ahead)).toHaveCount(10);
  await expect(times(ahead).nth(1)).toContainText('Sun 2027-03-28 03:30');
  await expect(times(ahead).nth(1)).toContainText('02:30 is skipped');
  await page.getByLabel('From').fill('soon');
  await expect(ahead).toContainText("'soon' is no date");
  await page.getByLabel('From').fill('');
  await isAccessible(page);

  await page.getByLabel('Cron line').fill('61 2 * * *');
  await expect(page.getByText('its minute is not one; minutes go from 0 to 59')).toBeVisible();
  await page.getByLabel('Name').fill('by form');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('the name cannot be in an address')).toBeVisible();
  await page.getByLabel('Name').fill('by-form');
  await page.getByLabel('Cron line').fill('45 2 * * *');
  await expect(ahead).toContainText('At 02:45 every day');
  await expect(page.getByRole('region', { name: 'The same elsewhere' })).toContainText(
    'petra apply by-form.yaml',
  );
  await page.reload();
  await expect(page.getByText('What you filled in and did not save is here again.')).toBeVisible();
  await expect(page.getByLabel('Cron line')).toHaveValue('45 2 * * *');
  await page.getByRole('button', { name: 'Save' }).click();

  const card = page.getByRole('article', { name: 'by-form' });
  await expect(card).toContainText('At 02:45 every day');
  await expect(card.getByRole('list', { name: 'Due' }).getByRole('listitem')).toHaveCount(3);
  await card.getByRole('button', { name: 'Edit' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('by-form');
  await page.getByText('Interval').click();
  await page.getByLabel('Every').fill('7200');
  await page.keyboard.press('ControlOrMeta+s');
  await expect(card).toContainText('every 2 h');
  await card.getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
  await expect(card).toContainText('median');
  await isAccessible(page);

  await card.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Version').fill('none-such');
  await expect(page.getByRole('region', { name: 'The same elsewhere' })).toContainText('version: none-such');
  await page.reload();
  await page.getByRole('button', { name: 'Begin anew' }).click();
  await expect(page.getByLabel('Playbook')).toBeFocused();
  await expect(page.getByLabel('Version')).toHaveValue('');
  await page.getByRole('link', { name: 'All schedules' }).click();
  await card.getByRole('button', { name: 'Remove' }).click();
  await expect(page.getByRole('dialog')).toContainText('petra schedule rm by-form');
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect(card).toHaveCount(0);
});

test('of two who change a schedule the second is shown both, and nothing is lost', async ({
  inside: page,
  served,
}) => {
  await served.apply(example('hello'));
  const text = SCHEDULE.replace('name: nightly', 'name: contested, labels: {team: shop}');
  await served.call('PUT', '/schedules/contested', { text });
  await page.goto(`${served.said.url}/schedules?edit=contested`);
  await page.getByLabel('Jitter').fill('30');
  await served.call('PUT', '/schedules/contested', { text: text.replace('30 2', '15 4') });
  await page.getByRole('button', { name: 'Save' }).click();
  const box = page.getByRole('alert', { name: 'Somebody else changed it meanwhile' });
  await expect(box.getByRole('row', { name: /When/ })).toContainText('cron: 15 4 * * *');
  await isAccessible(page);
  await box.getByRole('button', { name: 'Merge both' }).click();
  await expect(page.getByLabel('Cron line')).toHaveValue('15 4 * * *');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('article', { name: 'contested' })).toContainText('jitter: 30 s');
  expect(await served.call('GET', '/schedules/contested')).toMatchObject({
    document: { metadata: { labels: { team: 'shop' } } },
    cron: '15 4 * * *',
    jitter_s: 30,
  });

  await page.goto(`${served.said.url}/schedules?new=yes`);
  await page.getByLabel('Name').fill('contested');
  await page.getByLabel('Playbook').fill('hello');
  await page.getByRole('button', { name: 'Save' }).click();
  const taken = page.getByRole('alert', { name: 'There is a schedule of that name already' });
  await expect(taken).toContainText('15 4 * * *');
  await page.getByRole('textbox', { name: 'Name' }).fill('another');
  await expect(taken).toBeHidden();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('article', { name: 'another' })).toBeVisible();
});
