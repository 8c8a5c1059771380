// Which backup, timeline and segments lead to a time, and which times are refused.
import t from 'tap'
import type { BaseBackup } from '../../../server/postgres/backup/base-backup.ts'
import { planRestore, type RestoreSources } from '../../../server/postgres/backup/restore-plan.ts'
import { parseRestoreTime } from '../../../server/postgres/backup/restore-time.ts'
import { isNeeded } from '../../../server/postgres/backup/retention.ts'
import { completeUntil, onTimeline } from '../../../server/postgres/backup/wal-archive.ts'
import {
  historyName,
  parseHistory,
  parseSegmentName,
  segmentName,
  type SegmentFile,
} from '../../../server/postgres/backup/wal-segment.ts'

const size = 16 * 1024 * 1024
const lsn = (segment: number, offset = 0): bigint => BigInt(segment) * BigInt(size) + BigInt(offset)
const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute))
const to = (minute: number) => parseRestoreTime(at(minute).toISOString())

const backup = (minute: number, timeline: number, start: bigint): BaseBackup => ({
  name: `at ${minute}`,
  startedAt: at(minute),
  stoppedAt: at(minute),
  timeline,
  start,
  stop: start + 300n,
  systemIdentifier: '1',
  majorVersion: 18,
  segmentSize: size,
  files: 1,
  bytes: 1,
})

const segment = (timeline: number, number: number, isPartial = false): SegmentFile => ({
  name: `${segmentName(timeline, lsn(number), size)}${isPartial ? '.partial' : ''}`,
  timeline,
  start: lsn(number),
  isPartial,
})

// 12:10 a backup, 12:30 another; at 12:50 restored to a time before that, in segment 4; then a third backup.
const sources: RestoreSources = {
  folder: '/backups',
  backups: [backup(10, 1, lsn(2, 40)), backup(30, 1, lsn(6, 40)), backup(55, 2, lsn(5, 40))],
  archive: {
    systemIdentifier: '1',
    majorVersion: 18,
    segmentSize: size,
    timelines: [
      { timeline: 1, since: at(5), until: at(40) },
      { timeline: 2, since: at(50), until: at(59) },
    ],
  },
  segments: [
    ...[1, 2, 3, 4].map((number) => segment(1, number)),
    segment(2, 4),
    segment(1, 5),
    segment(2, 5),
    segment(1, 6),
    segment(2, 6, true),
    segment(1, 7, true),
  ],
  historyOf: (timeline) => parseHistory(timeline, timeline === 1 ? '' : `1\t0/4000500\tbefore 2026\n\n`),
}

const planned = (minute: number | undefined, from = sources) => {
  const plan = planRestore(minute === undefined ? undefined : to(minute), from)
  return {
    backup: plan.backup.name,
    timeline: plan.timeline,
    until: plan.until?.time,
    segments: plan.segments.map(({ timeline, start }) => `${timeline}:${start / BigInt(size)}`).join(' '),
  }
}

t.test('the newest backup before the time, on the timeline that was written then', (t) => {
  t.strictSame(planned(20), { backup: 'at 10', timeline: 1, until: at(20), segments: '1:2 1:3 1:4 1:5 1:6 1:7' })
  t.strictSame(planned(35), { backup: 'at 30', timeline: 1, until: at(35), segments: '1:6 1:7' })
  t.strictSame(planned(45), { backup: 'at 30', timeline: 1, until: at(45), segments: '1:6 1:7' }, 'after its noted end')
  // The backup of 12:30 is on the abandoned part of the first timeline.
  t.strictSame(planned(52), { backup: 'at 10', timeline: 2, until: at(52), segments: '1:2 1:3 2:4 2:5 2:6' })
  t.strictSame(planned(57), { backup: 'at 55', timeline: 2, until: at(57), segments: '2:5 2:6' })
  t.strictSame(planned(undefined), { backup: 'at 55', timeline: 2, until: undefined, segments: '2:5 2:6' })
  t.end()
})

t.test('a restore that was interrupted leaves a timeline that nobody has written', (t) => {
  const { archive } = sources
  if (!archive) throw new Error('the sources have an archive')
  const timelines = [...archive.timelines, { timeline: 3, since: at(70), until: at(70) }]
  t.equal(planned(undefined, { ...sources, archive: { ...archive, timelines } }).timeline, 2)
  t.strictSame(onTimeline({ ...archive, timelines }, 2).timelines, archive.timelines, 'the server goes on')
  t.strictSame(onTimeline({ ...archive, timelines }, 3).timelines, timelines, 'the restore took effect')
  const written = completeUntil({ ...archive, timelines }, at(75))
  t.equal(
    planned(undefined, { ...sources, archive: written, historyOf: () => parseHistory(3, '2\t0/5000500\tx\n') })
      .timeline,
    3,
  )
  const back = onTimeline(written, 2).timelines
  t.match(back.at(-1), { timeline: 2, until: null }, 'the replaced database was put back')
  t.equal(back.length, 4)
  t.end()
})

t.test('impossible times are refused', (t) => {
  t.throws(() => planned(9), /There is no backup before 2026-01-01 12:09.*is of 2026-01-01T12:10/)
  t.throws(() => planned(60), /is after the end of the archive, which is complete until 2026-01-01T12:59/)
  t.throws(() => planned(20, { ...sources, backups: [] }), /no complete backup in \/backups/)
  t.throws(() => planned(20, { ...sources, archive: null }), /no archive of the log, so only `--to latest`/)
  t.equal(planned(undefined, { ...sources, archive: null }).backup, 'at 55')
  t.end()
})

t.test('a missing segment ends what can be restored', (t) => {
  const broken = {
    ...sources,
    backups: sources.backups.slice(0, 1),
    segments: sources.segments.filter((it) => it.start !== lsn(5)),
  }
  t.throws(() => planned(undefined, broken), /lacks the segment 000000020000000000000005/)
  const plan = planRestore(to(52), broken)
  t.equal(plan.missing, '000000020000000000000005')
  t.equal(plan.segments.length, 3, 'what leads to it')
  t.end()
})

t.test('segments before the oldest backup are not needed', (t) => {
  const needed = (kept: readonly BaseBackup[]) =>
    sources.segments.filter((it) => isNeeded(it, size, kept)).map((it) => `${it.timeline}:${it.start / BigInt(size)}`)
  t.strictSame(needed(sources.backups).join(' '), '1:2 1:3 1:4 2:4 1:5 2:5 1:6 2:6 1:7')
  t.strictSame(needed(sources.backups.slice(2)).join(' '), '2:5 2:6')
  t.end()
})

t.test('names of segments and histories', (t) => {
  t.equal(segmentName(1, lsn(1), size), '000000010000000000000001')
  t.equal(segmentName(26, 0x12_fe000123n, size), '0000001A00000012000000FE')
  t.match(parseSegmentName('0000001A00000012000000FE.partial', size), {
    timeline: 26,
    start: 0x12_fe000000n,
    isPartial: true,
  })
  for (const name of ['archive.json', '00000002.history', '0000001A00000012000000FE.x'])
    t.equal(parseSegmentName(name, size), undefined, name)
  t.equal(historyName(26), '0000001A.history')
  t.end()
})

t.test('times need a zone', (t) => {
  const same = [
    '2026-01-31T14:05:00Z',
    '2026-01-31 14:05 UTC',
    '2026-01-31T15:05:00.000+01:00',
    '2026-01-31 15:05:00+01',
    '2026-01-31T19:35:00+0530',
    '2026-01-31t14:05:00.000000z',
  ]
  for (const text of same) t.equal(parseRestoreTime(text)?.time.toISOString(), '2026-01-31T14:05:00.000Z', text)
  t.equal(parseRestoreTime('2026-01-31T14:05:00.123456Z')?.text, '2026-01-31 14:05:00.123456+00:00')
  t.equal(parseRestoreTime('latest'), undefined)
  t.throws(() => parseRestoreTime('2026-01-31T14:05:00'), /--to 2026-01-31T14:05:00: the time zone is missing\. Use/)
  t.throws(() => parseRestoreTime('2026-02-30T14:05:00Z'), /does not exist/)
  t.throws(() => parseRestoreTime('2026-01-31T25:05:00Z'), /does not exist/)
  t.throws(() => parseRestoreTime("now'; drop"), /this is not a time/)
  t.end()
})
