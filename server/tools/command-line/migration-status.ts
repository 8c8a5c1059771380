// The output of `rowhouse migrate status`.
import type { FileStatus, ProjectStatus } from '../migrations/project-migrations.ts'
import { printable, textTable } from './text-table.ts'

/** Whether a file differs from what took effect, so that `migrate` would refuse it or go on with it. */
export const isChanged = ({ state }: FileStatus): boolean =>
  state === 'edited' || state === 'extended' || state === 'incomplete'

export const needsAttention = ({ files }: ProjectStatus): boolean => files.some(isChanged)

const states: Readonly<Record<FileStatus['state'], string>> = {
  applied: 'applied',
  'applied by supabase': "applied by Supabase's command line",
  pending: 'pending',
  'out of order': 'pending, older than an applied file: --include-all',
  incomplete: 'incomplete',
  edited: 'changed after it was applied',
  extended: 'extended after it was applied',
  'file missing': 'applied, the file is missing',
}

const seedStates = {
  applied: 'applied',
  changed: 'changed after it was applied: --seed',
  'not applied': 'not applied: --seed',
} as const

/** A table of the files, for people. */
export function describeStatus({ folder, files, seeds, ignored }: ProjectStatus): string {
  if (folder === null) return 'There is no folder of migrations. `rowhouse migrate new NAME` creates it.'
  const rows = [
    ...files.map((file) => [printable(file.name), stateOf(file), shortDate(file.appliedAt)]),
    ...seeds.map(({ file, state }) => [printable(file), seedStates[state], '']),
    ...ignored.map((name) => [printable(name), 'not applied: not named like 001_name.sql', '']),
  ]
  if (rows.length === 0) return `${folder} has no migrations. \`rowhouse migrate new NAME\` creates one.`
  return textTable(
    [
      { title: 'FILE', width: 70 },
      { title: 'STATE', width: 60 },
      { title: 'SINCE', width: 20 },
    ],
    rows,
  )
}

function stateOf({ state, done, statements, interrupted }: FileStatus): string {
  if (state !== 'incomplete') return states[state]
  const progress = `incomplete: ${done} of ${statements} statements`
  return interrupted === null ? progress : `${progress}, statement ${interrupted} was interrupted`
}

const shortDate = (iso: string | null): string => (iso === null ? '' : `${iso.slice(0, 10)} ${iso.slice(11, 19)}Z`)
