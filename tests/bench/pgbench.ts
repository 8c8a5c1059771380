// pgbench as the upper bound: PostgreSQL itself with the same statements, in pipeline mode.
// https://www.postgresql.org/docs/current/pgbench.html
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Statement } from '../../server/rest/sql/fragment.ts'

const run = promisify(execFile)

/** The newest installed pgbench; undefined if there is none. Debian does not put it on the PATH. */
export async function findPgbench(): Promise<string | undefined> {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? (await readdir(debian)).map(Number).sort((a, b) => b - a) : []
  for (const candidate of ['pgbench', ...versions.map((version) => `${debian}/${version}/bin/pgbench`)]) {
    try {
      await run(candidate, ['--version'])
      return candidate
    } catch {
      // Tries the next version.
    }
  }
  return undefined
}

/** Connections, as many as the servers use. */
export const clientCount = 10

/** Escapes a value for pgbench, which treats a colon before a name as a variable, even inside quotes. */
const literal = (value: string | Buffer): string =>
  `convert_from(decode('${Buffer.from(value).toString('hex')}', 'hex'), 'UTF8')`

/**
 * A script that sends the statements of a request in one round trip. Every client sends a request of its own, whose
 * values it looks up once (while the variable `known` is 0).
 *
 * @param requests the statements of each client's request; they differ only in their values
 * @throws Error if a script cannot express them
 */
export function pgbenchScript(requests: readonly (readonly Statement[])[]): string {
  const name = (statement: number, parameter: number | string): string => `s${statement}_${parameter}`
  const [first = []] = requests
  const names = first.flatMap(({ values }, statement) => values.map((_, index) => name(statement, index + 1)))
  const rows = requests.map((statements, client) => {
    const values = statements.flatMap(({ text, values }, statement) => {
      if (text !== first[statement]?.text) throw new Error('the requests have different statements')
      return values
    })
    const literals = values.map((value) => (value === null ? 'null' : literal(value)))
    return `(${[client, ...literals].join(', ')})`
  })
  const lines = first.map(({ text }, statement) => {
    if (/(?<!:):[A-Za-z_0-9]/.test(text) || text.includes(';')) throw new Error(`pgbench cannot run: ${text}`)
    return `${text.replace(/\$(\d+)/g, (_, parameter: string) => `:${name(statement, parameter)}`)};`
  })
  return [
    '\\if :known = 0',
    `select ${names.join(', ')} from (values ${rows.join(', ')}) as request (client, ${names.join(', ')})`,
    'where client = :client_id \\gset',
    '\\set known 1',
    '\\endif',
    '\\startpipeline',
    ...lines,
    '\\endpipeline',
    '',
  ].join('\n')
}

/** Parses the transactions per second of pgbench's report. */
export function readPgbench(output: string): number {
  const match = /^tps = ([\d.]+)/m.exec(output)
  if (!match) throw new Error(`pgbench gave no summary:\n${output}`)
  return Number(match[1])
}

/**
 * Runs a script.
 *
 * @returns transactions per second
 */
export async function playPgbench(program: string, uri: string, script: string, seconds: number): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'rowhouse-pgbench-'))
  try {
    const file = join(directory, 'script.sql')
    await writeFile(file, script)
    const mode = ['--no-vacuum', '--protocol=prepared', `--client=${clientCount}`, '--jobs=1', '-D', 'known=0']
    const { stdout } = await run(program, [...mode, `--time=${seconds}`, `--file=${file}`, uri])
    return readPgbench(stdout)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
