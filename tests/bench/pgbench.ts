// pgbench as the ceiling: what PostgreSQL itself can do with the same statements, in pipeline mode.
// https://www.postgresql.org/docs/current/pgbench.html
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Statement } from '../../server/rest/sql/fragment.ts'

const run = promisify(execFile)

/** The newest pgbench that is installed; undefined when there is none. Debian keeps them out of the path. */
export async function findPgbench(): Promise<string | undefined> {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? (await readdir(debian)).map(Number).sort((a, b) => b - a) : []
  for (const candidate of ['pgbench', ...versions.map((version) => `${debian}/${version}/bin/pgbench`)]) {
    try {
      await run(candidate, ['--version'])
      return candidate
    } catch {
      // The next one.
    }
  }
  return undefined
}

export type PgbenchScript = {
  readonly text: string
  /** Variables that the script's parameters stand for. */
  readonly variables: readonly (readonly [string, string])[]
}

/**
 * A script that sends the statements in one round trip.
 *
 * @throws Error when a statement cannot be said in a script
 */
export function pgbenchScript(statements: readonly Statement[]): PgbenchScript {
  const variables: [string, string][] = []
  const lines = statements.map(({ text, values }, statement) => {
    // pgbench takes a colon before a name for a variable, even inside quotes.
    if (/(?<!:):[A-Za-z_0-9]/.test(text) || text.includes(';')) throw new Error(`pgbench cannot run: ${text}`)
    values.forEach((value, index) => {
      if (value === null) throw new Error('pgbench has no NULL')
      variables.push([`s${statement}_${index + 1}`, value.toString()])
    })
    return `${text.replace(/\$(\d+)/g, `:s${statement}_$1`)};`
  })
  return { text: ['\\startpipeline', ...lines, '\\endpipeline', ''].join('\n'), variables }
}

/** Transactions per second that pgbench's report tells. */
export function readPgbench(output: string): number {
  const match = /^tps = ([\d.]+)/m.exec(output)
  if (!match) throw new Error(`pgbench gave no summary:\n${output}`)
  return Number(match[1])
}

/**
 * Plays a script on ten connections, as many as the servers have.
 *
 * @returns transactions per second
 */
export async function playPgbench(
  program: string,
  uri: string,
  { text, variables }: PgbenchScript,
  seconds: number,
): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'rowhouse-pgbench-'))
  try {
    const file = join(directory, 'script.sql')
    await writeFile(file, text)
    const { stdout } = await run(program, [
      ...['--no-vacuum', '--protocol=prepared', '--client=10', '--jobs=1', `--time=${seconds}`, `--file=${file}`],
      ...variables.flatMap(([name, value]) => ['-D', `${name}=${value}`]),
      uri,
    ])
    return readPgbench(stdout)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
