/** The keyboard as the only hand: where Tab leads. */
import { expect, type Locator, type Page } from '@playwright/test';

const MANY = 80;

/** Press Tab until something has the focus. */
export async function tabbedTo(page: Page, wanted: Locator): Promise<void> {
  for (let n = 0; n < MANY; n++) {
    if (await wanted.evaluate((one) => one === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  await expect(wanted, 'Tab leads there').toBeFocused();
}
