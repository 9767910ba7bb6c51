import { describe, expect, test } from 'vitest';
import { Problem } from '../../api/problems';
import {
  type Document,
  documentOf,
  formOf,
  fresh,
  inYaml,
  mistakes,
  refusalOf,
  textOf,
  timesOf,
} from './form';
import { differences, together } from './merging';

const FORM = { ...fresh('Europe/Berlin'), name: 'nightly', playbook: 'orders/load', cron: '30 2 * * *' };

function refused(...errors: { line: number; message: string; hint?: string; severity?: string }[]): Problem {
  const places = errors.map((one) => ({ severity: 'error', hint: '', ...one }));
  return new Problem({
    title: '',
    status: 422,
    code: 'invalid-playbook',
    detail: '',
    hint: '',
    errors: places,
  });
}

describe('a form makes a document', () => {
  test('with a line for every key, and nothing that goes without saying', () => {
    expect(textOf(documentOf(FORM))).toBe(
      [
        'apiVersion: petra/v1',
        'kind: Schedule',
        'metadata: {name: nightly}',
        'playbook: orders/load',
        'cron: "30 2 * * *"',
        'timezone: Europe/Berlin',
        '',
      ].join('\n'),
    );
  });

  test('and a document the same form, whatever is due', () => {
    const rhythms: Document[] = [
      { cron: '30 2 * * *' },
      { every_s: 90 },
      { at: '2026-12-24T18:00' },
      { at: ['2026-12-24T18:00', '2026-12-31T18:00'] },
    ];
    for (const more of rhythms) {
      const document: Document = {
        apiVersion: 'petra/v1',
        kind: 'Schedule',
        metadata: { name: 'a', labels: { team: 'shop' } },
        playbook: 'p',
        version: 3,
        workload: { day: 'it"s\nnew', n: [1, null, true] },
        ...more,
        overlap: 'queue',
        catch_up_s: 60,
        jitter_s: 2.5,
        paused: true,
      };
      expect(documentOf(formOf(document), document)).toEqual(document);
    }
  });

  test('in which words that mean something else to YAML are quoted', () => {
    const given = ['plain', 'no', 'True', '30 2 * * *', '1', 'a: b', '', '#a', '-', 'line\nbreak'];
    expect(given.map(inYaml)).toEqual([
      'plain',
      '"no"',
      '"True"',
      '"30 2 * * *"',
      '"1"',
      '"a: b"',
      '""',
      '"#a"',
      '"-"',
      '"line\\nbreak"',
    ]);
  });

  test('that can be looked ahead with before it is whole', () => {
    const text = timesOf({ ...FORM, name: '', playbook: '', workload: '{' });
    expect(text).toContain('cron: "30 2 * * *"\ntimezone: Europe/Berlin\n');
    expect(text).not.toContain('workload');
  });
});

describe('what is wrong is told at its field', () => {
  test('what lacks, before anybody is asked', () => {
    expect(mistakes(FORM)).toEqual({});
    expect(mistakes({ ...FORM, name: ' ', cron: '', workload: '[]' })).toEqual({
      name: 'this is needed',
      cron: 'this is needed',
      workload: 'this is no JSON object',
    });
    expect(mistakes({ ...FORM, cron: '', workload: '' })).toEqual({ cron: 'this is needed' });
  });

  test('what the server says of a line, with the next move', () => {
    const text = textOf(documentOf(FORM));
    const found = refusalOf(
      refused({ line: 5, message: 'no cron', hint: 'five fields' }, { line: 3, message: 'no name' }),
      text,
    );
    expect(found).toEqual({ fields: { cron: 'no cron; five fields', name: 'no name' }, rest: null });
  });

  test('what is only a warning is no refusal, and what has no field stands for itself', () => {
    const text = textOf(documentOf(FORM));
    const problem = refused({ line: 1, message: 'odd' });
    expect(refusalOf(problem, text)).toEqual({ fields: {}, rest: problem });
    const away = new Error('gone');
    expect(refusalOf(away, text).rest?.message).toBe('gone');
    const warned = refused({ line: 5, message: 'w', severity: 'warning' }, { line: 6, message: 'no zone' });
    expect(refusalOf(warned, text).fields).toEqual({ timezone: 'no zone' });
  });
});

describe('of two who changed it', () => {
  const was = FORM;
  const theirs = { ...FORM, jitter_s: '5', rhythm: 'every_s' as const, every_s: '60' };
  const mine = { ...FORM, playbook: 'other', cron: '0 3 * * *' };

  test('each difference says who did what, and whether both did', () => {
    expect(differences({ was, theirs, mine })).toEqual([
      { label: 'Playbook', was: 'orders/load', theirs: 'orders/load', mine: 'other', contested: false },
      {
        label: 'When',
        was: 'cron: 30 2 * * *',
        theirs: 'every_s: 60',
        mine: 'cron: 0 3 * * *',
        contested: true,
      },
      { label: 'Jitter', was: '0', theirs: '5', mine: '0', contested: false },
    ]);
  });

  test('both together is what either changed, and mine where both did', () => {
    const merged = together({ was, theirs, mine });
    expect(merged).toEqual({ ...mine, jitter_s: '5' });
    expect(together({ was, theirs, mine: was })).toMatchObject({ rhythm: 'every_s', every_s: '60' });
    expect(together({ was: null, theirs, mine })).toEqual(mine);
  });
});
