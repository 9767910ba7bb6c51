/** What is looked for on every page: where Tab leads, what is cut off at twice the size, what a dialog does with the focus. */
import { expect, type Page } from '@playwright/test';

const CONTROLS = 'a[href], button, input, select, textarea, summary, [role=slider], [role=tab], [tabindex]';
/** One stop for all that is inside: arrows go on from there. */
const COMPOSITES =
  '[role=tablist], [role=radiogroup], [role=grid], [role=tree], [role=menu], [role=application]';
const STOPS_MAX = 250;

interface Stop {
  name: string;
  /** How it looks, and how what stands around it looks: a focus that is seen changes that. */
  look: string;
  seen: boolean;
  typed: boolean;
}

/** Go to every control with Tab alone; say what is wrong with the way. */
export async function tabbed(page: Page): Promise<string[]> {
  await page.evaluate(prepared, { controls: CONTROLS, composites: COMPOSITES });
  const wrong: string[] = [];
  let before: Stop | null = null;
  for (let n = 0; n < STOPS_MAX; n++) {
    if (before?.typed) await page.keyboard.press('Escape'); // in a text, Tab is typed; Escape lets it go on
    await page.keyboard.press('Tab');
    const { stop, left } = await page.evaluate(() => window.walk.stop());
    if (before && left === before.look) wrong.push(`the focus is not seen: ${before.name}`);
    if (!stop) return [...wrong, ...(await page.evaluate(() => window.walk.missed()))];
    if (!stop.seen) wrong.push(`out of sight with the focus: ${stop.name}`);
    before = stop;
  }
  return [...wrong, `Tab does not come to an end after ${before?.name}`];
}

interface Walk {
  /** What has the focus now, if it is new; and how the one before looks without it. */
  stop: () => Promise<{ stop: Stop | null; left: string | null }>;
  missed: () => string[];
}

declare global {
  interface Window {
    walk: Walk;
  }
}

function prepared({ controls, composites }: { controls: string; composites: string }): void {
  const reached = new Set<Element>();
  let last: Element | null = null;
  const nameOf = (one: Element) => {
    const name = one.getAttribute('aria-label') || one.textContent?.trim() || one.getAttribute('title') || '';
    return `${one.tagName.toLowerCase()}.${one.className.toString().slice(0, 40)} '${name.slice(0, 60)}'`;
  };
  const lookOf = (one: Element) =>
    [
      one,
      one.parentElement,
      one.nextElementSibling,
      one.closest('.cm-editor'),
      ...((one as HTMLInputElement).labels ?? []),
    ]
      .map((near) => {
        if (!near) return '';
        const style = getComputedStyle(near);
        return [style.outline, style.boxShadow, style.borderColor, style.backgroundColor].join();
      })
      .join(' ');
  const boxOf = (one: Element) => {
    const label = (one as HTMLInputElement).labels?.[0];
    const own = one.getBoundingClientRect();
    return own.width > 2 || !label ? own : label.getBoundingClientRect();
  };
  const isSeen = (one: Element) => {
    const box = boxOf(one);
    return box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
  };
  const isThere = (one: Element) =>
    one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    !one.closest('[inert], [aria-hidden=true]') &&
    !(one as HTMLButtonElement).disabled;
  const isReached = (one: Element) => {
    const whole = one.closest(composites);
    return reached.has(one) || [...reached].some((stop) => whole?.contains(stop));
  };
  /** Whether React hears a click there: what can be clicked must be reached too. */
  const isHeard = (one: Element) => {
    const key = Object.keys(one).find((name) => name.startsWith('__reactProps$'));
    return Boolean(key && (one as unknown as Record<string, { onClick?: unknown }>)[key]?.onClick);
  };
  /** A text editor says a moment later that it has the focus, or has it no more. */
  const shown = async () => {
    const texts = [...document.querySelectorAll('.cm-editor')];
    const isLate = (one: Element) =>
      one.matches('.cm-focused') !== (one.querySelector('.cm-content') === document.activeElement);
    for (let n = 0; n < 60 && texts.some(isLate); n++) await new Promise(requestAnimationFrame);
  };
  (document.activeElement as HTMLElement | null)?.blur();
  getSelection()?.removeAllRanges();
  window.walk = {
    stop: async () => {
      await shown();
      const left = last?.isConnected ? lookOf(last) : null;
      const now = document.activeElement;
      if (!now || reached.has(now)) return { stop: null, left };
      reached.add(now);
      last = now;
      const typed = now.matches('.cm-content');
      // after the last comes the page as a whole, which shows nothing, and then the first
      const look = now === document.body ? 'none' : lookOf(now);
      return { stop: { name: nameOf(now), look, seen: isSeen(now), typed }, left };
    },
    missed: () => {
      const wanted = [...document.querySelectorAll(controls)].filter(
        (one) => isThere(one) && !(one.getAttribute('tabindex') === '-1' && !isHeard(one)),
      );
      const heard = [...document.querySelectorAll('#page *')].filter(
        (one) => isHeard(one) && isThere(one) && !one.closest(controls) && !one.querySelector(controls),
      );
      return [...wanted, ...heard]
        .filter((one) => !isReached(one))
        .map((one) => `Tab does not reach ${nameOf(one)}`);
    },
  };
}

/** What no scrolling brings into sight: it is cut off by something that does not scroll. */
export async function cutOff(page: Page): Promise<string[]> {
  return page.evaluate((controls) => {
    const axes = [
      { name: 'across', from: 'left', to: 'right', overflow: 'overflowX' },
      { name: 'at its height', from: 'top', to: 'bottom', overflow: 'overflowY' },
    ] as const;
    const near = 2;
    const told = (one: Element) => {
      const text = one.getAttribute('aria-label') || one.textContent?.trim() || '';
      return `${one.tagName.toLowerCase()}.${one.className.toString().slice(0, 40)} '${text.slice(0, 40)}'`;
    };
    /** What cuts it off; nothing, where something around it scrolls first. */
    const cutBy = (one: Element, axis: (typeof axes)[number]) => {
      const box = one.getBoundingClientRect();
      for (let around = one.parentElement; around; around = around.parentElement) {
        const style = getComputedStyle(around);
        const isBody = around === document.body;
        if (style.position === 'fixed' || /auto|scroll/.test(style[axis.overflow])) return null;
        if (style[axis.overflow] === 'visible' && !isBody) continue;
        const frame = isBody ? new DOMRect(0, 0, innerWidth, innerHeight) : around.getBoundingClientRect();
        if (box[axis.from] < frame[axis.from] - near || box[axis.to] > frame[axis.to] + near) return around;
      }
      return null;
    };
    const shown = [...document.querySelectorAll(`${controls}, h1, h2, h3, p, dt, dd, label, pre`)].filter(
      (one) =>
        one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
        one.getBoundingClientRect().width > near &&
        // the way past the header, and what is panned
        !one.closest('a[href="#page"], .react-flow__viewport, .hidden'),
    );
    /** What is too long for its box says all of it where one points at it, or is read out as a whole. */
    const boxes = [...document.querySelectorAll('[role=gridcell], .react-flow__node *')].filter((one) => {
      const { overflowX } = getComputedStyle(one);
      const isCut = overflowX === 'hidden' && one.scrollWidth > one.clientWidth + near;
      return isCut && one.checkVisibility() && !one.closest('.hidden');
    });
    const lost = boxes.flatMap((one) => {
      one.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
      const text = one.textContent?.trim() ?? '';
      const titled = [one, ...one.querySelectorAll('[title]'), one.closest('[title]')];
      const isTold = titled.some((each) => each?.getAttribute('title')?.includes(text.slice(0, 80)));
      return isTold ? [] : [`cut short without a title: ${told(one)}`];
    });
    /** Graphs and texts are panned and scrolled: there must be something to look through. */
    const small = [...document.querySelectorAll('.react-flow, .cm-editor, [role=grid]')].flatMap((one) => {
      const { width, height } = one.getBoundingClientRect();
      return one.checkVisibility() && width > 0 && (width < 160 || height < 90)
        ? [`too small to look through, ${width} by ${height}: ${told(one)}`]
        : [];
    });
    /** Whether a place is seen: what is scrolled away is not. */
    const isSeen = (one: Element, x: number, y: number) => {
      for (let around = one.parentElement; around; around = around.parentElement) {
        const frame = around.getBoundingClientRect();
        const isFrame = getComputedStyle(around).overflow !== 'visible';
        if (isFrame && (x < frame.left || x > frame.right || y < frame.top || y > frame.bottom)) return false;
      }
      return true;
    };
    /** A control that lies under another cannot be pressed. */
    const covered = shown.flatMap((one) => {
      if (!one.matches('button, a[href], input, select, textarea')) return [];
      const box = one.getBoundingClientRect();
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      const over = isSeen(one, x, y) ? document.elementFromPoint(x, y) : null;
      const isFree =
        !over || one.contains(over) || over.contains(one) || over.closest('label')?.contains(one);
      return isFree || box.width < 3 ? [] : [`${told(one)} lies under ${told(over)}`];
    });
    const wide = document.scrollingElement?.scrollWidth ?? 0;
    const cut = shown.flatMap((one) =>
      axes.flatMap((axis) => {
        const by = cutBy(one, axis);
        return by ? [`cut off ${axis.name}: ${told(one)} by ${told(by)}`] : [];
      }),
    );
    return [
      ...(wide > innerWidth ? [`the page is ${wide} wide`] : []),
      ...cut,
      ...lost,
      ...small,
      ...covered,
    ].slice(0, 12);
  }, CONTROLS);
}

/** Every button that asks something first (but on a page, or in a window of the machine): its dialog takes the focus, holds it, and gives it back. */
export async function dialogsGiveBack(page: Page): Promise<void> {
  const buttons = page
    .locator('#page')
    .getByRole('button', { name: /^(?!Open a file|New schedule).*…$/, disabled: false });
  for (let n = 0; n < (await buttons.count()); n++) {
    const button = buttons.nth(n);
    if ((await button.getAttribute('aria-disabled')) === 'true') continue;
    await button.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await expect(dialog).toBeVisible();
    const holds = () => dialog.evaluate((one) => one.contains(document.activeElement));
    await expect.poll(holds, 'the dialog has the focus').toBe(true);
    for (let tabs = 0; tabs < 15; tabs++) await page.keyboard.press('Tab');
    expect(await holds(), 'Tab stays in the dialog').toBe(true);
    await page.keyboard.press('Escape');
    await expect(dialog).toHaveCount(0);
    await expect(button).toBeFocused();
  }
}
