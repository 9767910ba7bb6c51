import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Pin, PinOff } from 'lucide-react';
import { type Ref, useCallback, useEffect, useMemo, useState } from 'react';
import { eventCounts, events } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { Write } from '../../../api/shapes';
import {
  Button,
  type Column,
  Empty,
  ErrorBox,
  IconButton,
  millis,
  Name,
  number,
  Segmented,
  TextField,
  usePages,
  VirtualTable,
} from '../../../kit';
import { readSel, type Sel, writeSel } from '../../../story/sel';
import { wantedOfSel } from '../../../story/select';
import { tokenOfRecord } from '../../../viewer/looks';
import { REST_MS } from '../useStory';
import { useWrites } from '../useWrites';
import type { View } from '../view';
import css from './log.module.css';
import {
  aboutInWords,
  CHUNK,
  CountedRows,
  chunkOf,
  FOLDED_MAX,
  type Fold,
  FoldedRows,
  kindOf,
  knownRows,
  type Level,
  type LogRows,
  saidOf,
  toldRecords,
} from './rows';

const NO_FOLDS: ReadonlyMap<number, Fold> = new Map();
const FOUND_PAGE = 500;
const FOUND_MAX = 10_000;

/** The records, in words. What is not looked at is not fetched. */
export function LogPane({ view, inputRef }: { view: View; inputRef?: Ref<HTMLInputElement> }) {
  const { story, sel, search, go, live, seq } = view;
  const { pin } = search;
  const pinned = useMemo(() => readSel(pin), [pin]);
  const about = pin === undefined ? sel : pinned;
  const level = search.level ?? 'important';
  const [text, setText] = useState(search.log ?? '');
  useEffect(() => setText(search.log ?? ''), [search.log]);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text !== (search.log ?? '')) go({ log: text || undefined }, true);
    }, 250);
    return () => clearTimeout(timer);
  }, [text, search.log, go]);
  const writes = useWrites(view.id, about, view.latest);
  const all = useRows(view, about, level, writes);
  const found = useFound(view, search.log ?? '', about, level);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const shown = sel?.kind === 'rec' ? sel.seq : 0;
  const rows =
    useMemo(
      () =>
        search.log || !all.known || all.known.length > FOLDED_MAX
          ? null
          : new FoldedRows(story, all.known, opened, shown),
      [story, search.log, all.known, opened, shown],
    ) ?? (search.log ? found.rows : all.rows);
  const folds = rows instanceof FoldedRows ? rows.folds : NO_FOLDS;
  const turn = useCallback((seq: number) => setOpened((was) => new Set([...was, seq])), []);
  const [seen, setSeen] = useState({ first: 0, last: 0 });
  const look = useCallback((first: number, last: number) => setSeen({ first, last }), []);
  useEffect(() => {
    const want = () => {
      for (const n of [seen.first, seen.last]) void story.want(rows.neededFor(n) ?? 0);
    };
    const timer = setTimeout(want, REST_MS);
    return () => clearTimeout(timer);
  }, [story, rows, seen]);
  const columns = useMemo<Column<number>[]>(
    () => [
      { id: 'seq', head: '#', width: '64px', cell: (one) => <b className="mono">{one}</b> },
      {
        id: 'time',
        head: 'Time',
        width: '108px',
        cell: (one) => <span className="mono">{millis(story.timeOf(one))}</span>,
      },
      {
        id: 'type',
        head: 'Record',
        width: 'minmax(130px, 180px)',
        cell: (one) => (
          <span className={css.type} data-state={tokenOfRecord(story, one)}>
            <i aria-hidden /> {folds.has(one) ? `${number(folds.get(one)!.count)} × ` : ''}
            {folds.has(one) ? kindOf(story.typeOf(one)) : story.typeOf(one)}
          </span>
        ),
      },
      {
        id: 'step',
        head: 'Step',
        width: 'minmax(72px, 120px)',
        cell: (one) => <Name>{story.stepOf(one)}</Name>,
      },
      {
        id: 'text',
        head: 'What happened',
        width: 'minmax(140px, 1fr)',
        cell: (one) => {
          const fold = folds.get(one);
          return fold ? (
            <button type="button" className={css.fold} tabIndex={-1} onClick={() => turn(one)}>
              {number(one)} to {number(fold.last)}: show each
            </button>
          ) : (
            <RecordText view={view} seq={one} />
          );
        },
      },
    ],
    [story, view, folds, turn],
  );
  return (
    <section className={css.pane} aria-label="Log" data-pane="log">
      <div className={css.bar}>
        <h3>
          Log <span className={`${css.about} data`}>of {aboutInWords(about)}</span>
        </h3>
        <IconButton
          label={pin === undefined ? 'Keep this filter' : 'Follow the selection'}
          pressed={pin !== undefined}
          onClick={() => go({ pin: pin === undefined ? (sel ? writeSel(sel) : 'all') : undefined })}
        >
          {pin === undefined ? <Pin size={14} /> : <PinOff size={14} />}
        </IconButton>
        <span className="grow" />
        <TextField
          ref={inputRef}
          hideLabel
          label="Filter the log"
          placeholder="filter by words"
          value={text}
          onChange={setText}
        />
        <Segmented
          label="Level"
          value={level}
          onChange={(value) => go({ level: value === 'all' ? 'all' : undefined })}
          options={[
            { value: 'important', label: 'important' },
            { value: 'all', label: 'all' },
          ]}
        />
        <span className="muted">{number((search.log ? found.rows : all.rows).length)}</span>
      </div>
      {found.error ? <ErrorBox error={found.error} /> : null}
      {all.error ? <ErrorBox error={all.error} /> : null}
      <VirtualTable
        label="Records"
        columns={columns}
        rows={rows}
        rowHeight={26}
        keyOf={String}
        selectedAt={sel?.kind === 'rec' ? numberOf(rows, sel.seq) : rows.upTo(seq)}
        onView={look}
        onSelect={(one) => view.select({ kind: 'rec', seq: one })}
        onOpen={(one) => (folds.has(one) ? turn(one) : go({ at: one >= story.version ? undefined : one }))}
        isFaint={live ? undefined : (one) => one > seq}
        follow={live && sel?.kind !== 'rec' && !search.log}
        empty={
          <Empty
            title="No record fits"
            act={level === 'all' ? undefined : <Button onClick={() => go({ level: 'all' })}>Show all</Button>}
          >
            <p>
              {level === 'important'
                ? 'Only the important ones are shown.'
                : 'Clear the selection or the words.'}
            </p>
          </Empty>
        }
      />
    </section>
  );
}

/** Where a record stands among some; -1 where it does not. */
function numberOf(rows: LogRows, seq: number): number {
  const at = rows.upTo(seq);
  return at >= 0 && rows.at(at) === seq ? at : -1;
}

/** The records that are shown: of a story that is not held whole, the server counts them. */
function useRows(
  view: View,
  about: Sel | null,
  level: Level,
  writes: readonly Write[] | null,
): { rows: LogRows; known: readonly number[] | null; error: unknown } {
  const { id, story, edition } = view;
  const { isWhole } = story;
  const client = useQueryClient();
  const size = story.overview?.size ?? 1;
  const until = story.tailAfter;
  const wanted = wantedOfSel(story, about);
  const key = keys.eventCounts(id, { ...wanted, level, size });
  const counted = useQuery({
    queryKey: key,
    queryFn: async (): Promise<Counted> => {
      const known = client.getQueryData<Counted>(key) ?? NONE;
      const whole = known.counts.slice(0, Math.floor(known.until / size)); // the last stretch may be a part of one
      const after = whole.length * size;
      const more = await eventCounts(id, { ...wanted, level, size, after, until });
      return { until, counts: [...whole, ...more.counts] };
    },
    enabled: !isWhole && !writes,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { refetch } = counted;
  const isBehind = counted.data !== undefined && counted.data.until < until;
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever more of it is let go
  useEffect(() => {
    if (isBehind) void refetch();
  }, [isBehind, until, refetch]);
  const told = isWhole ? null : (counted.data ?? null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the story changes by its edition
  const known = useMemo(() => {
    if (writes) return writes.map((one) => one.seq);
    return isWhole ? toldRecords(story, about, level) : null;
  }, [story, edition, about, level, isWhole, writes]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const rows = useMemo(() => {
    if (known) return knownRows(known);
    return told ? new CountedRows(story, about, level, { size, counts: told.counts }) : knownRows([]);
  }, [story, edition, about, level, known, told, size]);
  return { rows, known, error: counted.error };
}

interface Counted {
  until: number;
  counts: readonly number[];
}

const NONE: Counted = { until: 0, counts: [] };

/** The records whose words fit, as the server finds them. */
function useFound(view: View, text: string, about: Sel | null, level: Level) {
  const wanted = wantedOfSel(view.story, about);
  const { found, rows, more } = usePages({
    key: keys.events(view.id, { text, level, ...wanted, version: text ? view.latest : 0 }),
    fetch: (cursor) =>
      events(view.id, { ...wanted, text, level, after: Number(cursor ?? 0), limit: FOUND_PAGE }),
    most: FOUND_MAX,
    enabled: text !== '',
  });
  useEffect(more, [more]);
  const known = useMemo(() => knownRows(rows.map((one) => one.seq)), [rows]);
  return { rows: known, error: found.error };
}

/** What a record says: fetched with those around it when it comes into view. */
function RecordText({ view, seq }: { view: View; seq: number }) {
  const chunk = chunkOf(seq);
  const last = Math.min(view.latest, (chunk + 1) * CHUNK);
  const found = useQuery({
    queryKey: keys.events(view.id, { chunk, last }),
    queryFn: () => events(view.id, { after: chunk * CHUNK, before: last + 1, limit: CHUNK }),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (was) => was,
    enabled: last > chunk * CHUNK,
  });
  const item = found.data?.items.find((one) => one.seq === seq);
  const run = view.story.runOf(seq);
  return (
    <span className="data muted" title={item?.text}>
      {item ? saidOf(item) || (run ? `run ${run}` : '') : ''}
    </span>
  );
}
