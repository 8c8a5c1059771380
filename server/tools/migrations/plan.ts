// Compares the files of a folder with the record of a database.
import { CommandError } from '../command-line/command-error.ts'
import { checksumOf, compareVersions, type MigrationFile } from './migration-file.ts'
import type { AppliedMigration } from './record.ts'

export type MigrationState =
  | 'applied'
  /** Supabase's command line applied it. */
  | 'applied by supabase'
  | 'pending'
  /** Pending, and older than a file that is applied. */
  | 'out of order'
  /** Its first statements have taken effect, and it goes on with the others. */
  | 'incomplete'
  /** Statements that have taken effect were changed. */
  | 'edited'
  /** Statements were added at its end after it was applied. */
  | 'extended'
  /** It is applied, and the folder has no file of this number. */
  | 'file missing'

export type PlannedMigration = {
  readonly state: MigrationState
  readonly version: string
  /** File name; of a missing file, its name when it was applied. */
  readonly name: string
  /** Undefined for a missing file. */
  readonly file: MigrationFile | undefined
  readonly record: AppliedMigration | undefined
}

/** All files and all recorded migrations, in the order of their numbers. */
export function planMigrations(
  files: readonly MigrationFile[],
  record: ReadonlyMap<string, AppliedMigration>,
): readonly PlannedMigration[] {
  const newest = [...record.keys()].reduce((a, b) => (compareVersions(a, b) < 0 ? b : a), '')
  const versions = new Set(files.map(({ version }) => version))
  const missing = [...record.values()].filter(({ version }) => !versions.has(version))
  return [
    ...files.map((file): PlannedMigration => {
      const known = record.get(file.version)
      return { state: stateOf(file, known, newest), version: file.version, name: file.name, file, record: known }
    }),
    ...missing.map((known): PlannedMigration => ({
      state: 'file missing',
      version: known.version,
      name: known.name,
      file: undefined,
      record: known,
    })),
  ].sort((a, b) => compareVersions(a.version, b.version))
}

function stateOf(file: MigrationFile, known: AppliedMigration | undefined, newest: string): MigrationState {
  if (!known) return compareVersions(file.version, newest) < 0 ? 'out of order' : 'pending'
  const { checksum, done, appliedAt } = known
  if (checksum === null) return 'applied by supabase'
  const count = file.statements.length
  if (count < done || checksumOf(file, done) !== checksum) return 'edited'
  if (appliedAt === null) return 'incomplete'
  return count === done ? 'applied' : 'extended'
}

export type PendingOptions = {
  /** Whether files may be applied that are older than one that is applied. */
  readonly includeAll?: boolean
  /** Whether to run statements that were added to an applied file. */
  readonly extend?: boolean
  /** Whether to leave out files without statements, which are still being written. */
  readonly skipEmpty?: boolean
}

/**
 * The files to run, in order.
 *
 * @throws CommandError when an applied file was changed, or a pending one is older than an applied one
 */
export function pendingOf(
  planned: readonly PlannedMigration[],
  { includeAll = false, extend = false, skipEmpty = false }: PendingOptions = {},
): readonly PlannedMigration[] {
  const changed = planned.filter(({ state }) => state === 'edited' || (state === 'extended' && !extend))
  if (changed.length > 0) throw new CommandError(changed.map(changedMessage).join('\n'))
  const late = planned.filter(({ state }) => state === 'out of order')
  if (late.length > 0 && !includeAll) throw new CommandError(lateMessage(late))
  const runs: readonly MigrationState[] = ['pending', 'out of order', 'incomplete', 'extended']
  return planned.filter(
    ({ state, file }) =>
      runs.includes(state) && !(skipEmpty && file?.statements.length === 0 && state !== 'incomplete'),
  )
}

function changedMessage({ state, name, file, record }: PlannedMigration): string {
  const path = file?.path ?? name
  const when = record?.appliedAt ? ` on ${record.appliedAt.toISOString().slice(0, 10)}` : ''
  const done = record?.done ?? 0
  if (record?.appliedAt === null) {
    return [
      `${path}: its first ${done === 1 ? 'statement has' : `${done} statements have`} taken effect in this database, and ${done === 1 ? 'was' : 'one of them was'} changed since then.`,
      'To go on, restore what has taken effect: only the statements after it may change.',
      `Or run by hand what is missing, then \`rowhouse migrate --accept ${name}\`, which records the file as applied.`,
    ].join('\n')
  }
  const what =
    state === 'extended' ? `${file ? file.statements.length - done : 0} statements were added` : 'it was changed'
  return [
    `${path}: ${what} after it was applied to this database${when}. Applied files do not run again.`,
    'To go on, undo that, and put the change into a new file: `rowhouse migrate new NAME`.',
    `If the database already is as the file says, \`rowhouse migrate --accept ${name}\` records it so.`,
    state === 'extended'
      ? 'In development, `rowhouse migrate --watch` runs the statements that were added.'
      : 'In development, you can create the embedded database again from all files: stop `serve`, delete its data folder, start it.',
  ].join('\n')
}

function lateMessage(late: readonly PlannedMigration[]): string {
  const one = late.length === 1
  return [
    `${late.map(({ file, name }) => file?.path ?? name).join(', ')}: ${one ? 'the file is' : 'these files are'} older than one that is applied to this database, as after a merge.`,
    `To go on, give ${one ? 'it a higher number' : 'them higher numbers'}, or apply ${one ? 'it' : 'them'} now: \`rowhouse migrate --include-all\`.`,
  ].join('\n')
}
