// The archive of the write-ahead log: a folder with segments and history files under Postgres's names, and a file that says
// which database they belong to, and until when they are complete.
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ifMissing } from '../embedded/missing-file.ts'
import { BackupError } from './backup-error.ts'
import { writeDurably } from './durable-file.ts'
import { historyName, parseHistory, parseSegmentName, type SegmentFile, type TimelinePart } from './wal-segment.ts'

export type ArchivedTimeline = {
  readonly timeline: number
  /** When the service began to write on it. */
  readonly since: Date
  /** Everything that was committed before this time is in the archive. Null before this is known for the first time. */
  readonly until: Date | null
}

export type ArchiveState = {
  /** Identifies the database, as a decimal number; Postgres chooses it when a database is created. */
  readonly systemIdentifier: string
  readonly majorVersion: number
  /** Bytes. */
  readonly segmentSize: number
  /** In the order in which they began. */
  readonly timelines: readonly ArchivedTimeline[]
}

/** The folder of the archive inside a backup folder. */
export const walFolder = (folder: string): string => join(folder, 'wal')

const stateFile = (folder: string): string => join(walFolder(folder), 'archive.json')

/**
 * Reads what an archive contains; null if there is none.
 *
 * @param folder backup folder
 * @throws BackupError when the file is damaged; the operating system's error
 */
export async function readArchive(folder: string): Promise<ArchiveState | null> {
  const text = await readFile(stateFile(folder), 'utf8').catch(ifMissing(null))
  if (text === null) return null
  try {
    return parseState(JSON.parse(text))
  } catch (error) {
    throw new BackupError(`${stateFile(folder)} is damaged: ${String(error)}`, { cause: error })
  }
}

type Stored = {
  readonly systemIdentifier: string
  readonly majorVersion: number
  readonly segmentSize: number
  readonly timelines: readonly { readonly timeline: number; readonly since: string; readonly until: string | null }[]
}

function parseState(value: unknown): ArchiveState {
  const { systemIdentifier, majorVersion, segmentSize, timelines } = value as Stored
  if (!/^\d+$/.test(systemIdentifier) || !Number.isInteger(majorVersion) || !Number.isInteger(segmentSize)) {
    throw new TypeError('it does not describe an archive')
  }
  const parsed = timelines.map(({ timeline, since, until }) => ({
    timeline,
    since: parseTime(since),
    until: until === null ? null : parseTime(until),
  }))
  return { systemIdentifier, majorVersion, segmentSize, timelines: parsed }
}

function parseTime(text: string): Date {
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) throw new TypeError(`${text} is not a time`)
  return time
}

/** @throws the operating system's error */
export async function writeArchive(folder: string, state: ArchiveState): Promise<void> {
  await writeDurably(stateFile(folder), `${JSON.stringify(state, null, 2)}\n`)
}

/**
 * The state when the server begins to write on a timeline, which is the last one afterwards. It may be an earlier one: a
 * restore was interrupted before it took effect, or the replaced database was put back.
 */
export function onTimeline(state: ArchiveState, timeline: number): ArchiveState {
  const known = state.timelines.findLastIndex((it) => it.timeline === timeline)
  const later = state.timelines.slice(known + 1)
  const wereWritten = later.some(({ since, until }) => until === null || until > since)
  if (known >= 0 && !wereWritten) return { ...state, timelines: state.timelines.slice(0, known + 1) }
  return { ...state, timelines: [...state.timelines, { timeline, since: new Date(), until: null }] }
}

/** The state when everything on the last timeline that was committed before `until` is in the archive. */
export const completeUntil = (state: ArchiveState, until: Date): ArchiveState => ({
  ...state,
  timelines: state.timelines.map((it, index) => (index === state.timelines.length - 1 ? { ...it, until } : it)),
})

/** Creates the folder of an archive. */
export async function createArchive(folder: string, state: ArchiveState): Promise<void> {
  await mkdir(walFolder(folder), { recursive: true, mode: 0o700 })
  await writeArchive(folder, state)
}

/** The segments of an archive, in the order of their positions. */
export async function listSegments(folder: string, segmentSize: number): Promise<readonly SegmentFile[]> {
  const names = await readdir(walFolder(folder))
  const complete = new Set(names)
  return names
    .flatMap((name) => parseSegmentName(name, segmentSize) ?? [])
    .filter(({ name, isPartial }) => !isPartial || !complete.has(name.slice(0, 24)))
    .sort((one, other) => (one.start < other.start ? -1 : one.start > other.start ? 1 : one.timeline - other.timeline))
}

/**
 * The parts of the log that lead to a timeline.
 *
 * @throws BackupError when the archive lacks the history of a timeline after the first
 */
export async function readHistory(folder: string, timeline: number): Promise<readonly TimelinePart[]> {
  if (timeline === 1) return parseHistory(1, '')
  const path = join(walFolder(folder), historyName(timeline))
  const text = await readFile(path, 'utf8').catch(ifMissing(null))
  if (text === null) throw new BackupError(`The archive of the write-ahead log lacks the file ${path}.`)
  return parseHistory(timeline, text)
}
