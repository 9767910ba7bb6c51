// @vitest-environment jsdom
import { act, cleanup, fireEvent, screen } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { away, Problem } from '../api/problems';
import { Button, Dialog, Empty, ErrorBox, Name, Skeleton, State, Tabs, Value, VirtualTable } from '.';
import { turnDensity } from './density';
import { useKeys } from './keyboard';
import { isAccessible, makeBrowserParts, show } from './testing';

beforeAll(makeBrowserParts);
afterEach(cleanup);

const FORBIDDEN = new Problem({
  title: 'You may not do that',
  status: 403,
  code: 'forbidden',
  detail: "needs 'steer'",
  hint: 'x',
});

test('a problem says what, its code and the next move', async () => {
  const retry = vi.fn();
  const { container } = show(<ErrorBox error={away(new Error('refused'))} retry={retry} />);
  expect(screen.getByRole('alert').textContent).toContain('The server does not answer');
  expect(screen.getByRole('alert').textContent).toContain('away');
  fireEvent.click(screen.getByRole('button', { name: 'Retry' }));
  expect(retry).toHaveBeenCalledOnce();
  await isAccessible(container);
});

test('who may not is told whom to ask', () => {
  show(<ErrorBox error={FORBIDDEN} />);
  expect(screen.getByRole('alert').textContent).toContain('Ask an administrator');
});

test('what is empty teaches, what loads says so', async () => {
  const { container } = show(
    <>
      <Empty title="Nothing yet" command="petra init hello" act={<Button>Start</Button>} />
      <Skeleton />
    </>,
  );
  expect(screen.getByText('petra init hello')).toBeTruthy();
  expect(screen.getByRole('status', { name: 'loading' })).toBeTruthy();
  await isAccessible(container);
});

test('a button that cannot be pressed says why, and does nothing', () => {
  const press = vi.fn();
  show(
    <Button why="the server does not answer" onClick={press}>
      Pause
    </Button>,
  );
  const button = screen.getByRole('button', { name: 'Pause' });
  fireEvent.click(button);
  expect(press).not.toHaveBeenCalled();
  expect([button.getAttribute('aria-disabled'), button.title]).toEqual([
    'true',
    'the server does not answer',
  ]);
});

test('hostile values are text, long ones are cut, deep ones closed, many opened in parts', () => {
  let deep: { [key: string]: object } = {};
  for (let n = 0; n < 500; n++) deep = { deep };
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`key${n}`, n]));
  const value = {
    markup: '<script>alert(1)</script><img src=x onerror=alert(1)>',
    rtl: '\u202Eevil',
    long: 'x'.repeat(1_000_000),
    deep,
    many,
  };
  const { container } = show(<Value value={value as never} />);
  expect(container.querySelector('script, img')).toBeNull();
  expect(container.textContent).toContain('<script>alert(1)</script>');
  expect((container.textContent ?? '').length).toBeLessThan(20_000);
  expect(screen.getByRole('button', { name: /all 977 KB/ })).toBeTruthy();
});

test('tabs are walked with the arrow keys', () => {
  const change = vi.fn();
  show(
    <Tabs
      label="Parts"
      tabs={[
        { id: 'a', label: 'A' },
        { id: 'b', label: 'B' },
      ]}
      value="a"
      onChange={change}
    >
      here
    </Tabs>,
  );
  fireEvent.keyDown(screen.getByRole('tablist'), { key: 'ArrowRight' });
  expect(change).toHaveBeenCalledWith('b');
  fireEvent.keyDown(screen.getByRole('tablist'), { key: 'ArrowLeft' });
  expect(change).toHaveBeenLastCalledWith('b');
});

test('a table of a hundred thousand rows has few of them in the page', async () => {
  const rows = Array.from({ length: 100_000 }, (_, n) => n);
  const { container } = show(
    <VirtualTable
      label="Rows"
      rows={rows}
      keyOf={String}
      columns={[{ id: 'n', head: 'N', width: '1fr', cell: (n) => n }]}
    />,
  );
  expect(screen.getByRole('grid', { name: 'Rows' }).getAttribute('aria-rowcount')).toBe('100001');
  expect(container.querySelectorAll('[role="row"]').length).toBeLessThan(100);
  await isAccessible(container);
});

test('a dialog has a name and is left by Escape', async () => {
  const close = vi.fn();
  show(
    <Dialog title="Cancel" onClose={close}>
      <Button>Yes</Button>
    </Dialog>,
  );
  const dialog = await screen.findByRole('dialog', { name: 'Cancel' });
  fireEvent.keyDown(dialog, { key: 'Escape' });
  expect(close).toHaveBeenCalled();
});

test('a state has its word, also where only its icon is seen', () => {
  show(<State status="waiting" reason="human" bare />);
  expect(screen.getByText('waiting · human')).toBeTruthy();
});

test('rows stand closer where somebody likes it compact, and that is remembered', () => {
  const rows = Array.from({ length: 50 }, (_, n) => String(n));
  const columns = [{ id: 'n', head: 'N', width: '1fr', cell: (row: string) => row }];
  show(<VirtualTable label="Numbers" columns={columns} rows={rows} keyOf={(row) => row} />);
  const height = () => screen.getByRole('rowgroup').style.height;
  expect(height()).toBe('1600px');
  act(() => turnDensity());
  expect(height()).toBe('1250px');
  expect(document.documentElement.dataset.density).toBe('compact');
  expect(localStorage.getItem('petra.density')).toBe('compact');
  act(() => turnDensity());
  expect(height()).toBe('1600px');
});

function Asking() {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setAsks(true)}>
        Ask
      </button>
      {asks ? (
        <Dialog title="Sure?" onClose={() => setAsks(false)}>
          <button type="button" onClick={() => setAsks(false)}>
            Yes
          </button>
        </Dialog>
      ) : null}
    </>
  );
}

test('a dialog that goes gives the focus back to what it was opened with', () => {
  show(<Asking />);
  const ask = screen.getByRole('button', { name: 'Ask' });
  ask.focus();
  fireEvent.click(ask);
  const yes = screen.getByRole('button', { name: 'Yes' });
  yes.focus();
  fireEvent.click(yes);
  expect(document.activeElement).toBe(ask);
});

function Keyed({ run }: { run: () => void }) {
  useKeys([{ keys: 'Enter', label: 'Open', run }]);
  return (
    <button type="button">
      <span>Press me</span>
    </button>
  );
}

test('Enter on a button is for the button, not for the page', () => {
  const run = vi.fn();
  show(<Keyed run={run} />);
  const button = screen.getByRole('button', { name: 'Press me' });
  expect(fireEvent.keyDown(button, { key: 'Enter' })).toBe(true);
  expect(run).not.toHaveBeenCalled();
  fireEvent.keyDown(document.body, { key: 'Enter' });
  expect(run).toHaveBeenCalledOnce();
});

function Sequence({ run }: { run: (keys: string) => void }) {
  useKeys(['e', 'g e', 'g p'].map((keys) => ({ keys, label: keys, run: () => run(keys) })));
  return <input aria-label="Words" />;
}

test('of two keys that belong together the second is not heard alone, and a third is', () => {
  const run = vi.fn();
  show(<Sequence run={run} />);
  const press = (...keys: string[]) => {
    for (const key of keys) fireEvent.keyDown(document.body, { key });
  };
  press('g', 'e');
  press('e');
  press('g', 'Shift', 'p');
  press('g', 'x', 'e');
  expect(run.mock.calls.flat()).toEqual(['g e', 'e', 'g p', 'e']);
  fireEvent.keyDown(screen.getByLabelText('Words'), { key: 'g' });
  press('e');
  expect(run.mock.calls.flat().at(-1), 'what is typed begins nothing').toBe('e');
});

test.each([
  ['pay', ['pay']],
  ['consolidate_subsidiary_12', ['consolidate_subs', 'idiary_12']],
  [`a_name_with_a_face_${'\u{1f600}'}12345678`, [`a_name_with_a_face_${'\u{1f600}'}`, '12345678']],
])('%s is cut short in its middle, and said whole where one points at it', (name, parts) => {
  const { container } = show(<Name>{name}</Name>);
  expect(screen.getByTitle(name).textContent).toBe(name);
  expect([...container.querySelectorAll('[title] > span')].map((one) => one.textContent)).toEqual(parts);
});
