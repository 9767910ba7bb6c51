import { describe, expect, test } from 'vitest';
import type { Schedule } from '../../api/schedules';
import { nextOf } from './due';

function schedule(name: string, more: Partial<Schedule>): Schedule {
  return { name, playbook: 'load', paused: false, due: null, ...more } as Schedule;
}

describe('what starts a playbook next', () => {
  const late = schedule('late', { due: '2026-11-19T02:30:00Z' });
  const soon = schedule('soon', { due: '2026-11-18T23:30:00+00:00' });
  const paused = schedule('paused', { due: '2026-11-18T22:00:00Z', paused: true });
  const other = schedule('other', { playbook: 'send', due: '2026-11-18T21:00:00Z' });

  test('is the schedule of its own that is due first', () => {
    expect(nextOf([late, other, soon], 'load')?.name).toBe('soon');
    expect(nextOf([soon, late], 'load')?.name).toBe('soon');
  });

  test('is a paused one only where no other is due', () => {
    expect(nextOf([paused, late], 'load')?.name).toBe('late');
    expect(nextOf([late, paused], 'load')?.name).toBe('late');
    expect(nextOf([paused], 'load')?.name).toBe('paused');
  });

  test('is nothing where no schedule names it', () => {
    expect(nextOf([other], 'load')).toBeNull();
  });
});
