import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, test } from 'vitest';
import { anew } from './anew';

test('news that come before the first answer are not lost, though that is older', async () => {
  const client = new QueryClient();
  const answers = ['before the news', 'after the news'];
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const queryFn = async () => {
    const answer = answers.shift();
    if (answers.length) await held;
    return answer;
  };
  const leave = new QueryObserver(client, { queryKey: ['list', 1], queryFn }).subscribe(() => undefined);
  const asked = anew(client, ['list']);
  release();
  await asked;
  expect(client.getQueryData(['list', 1])).toBe('after the news');
  leave();
});
