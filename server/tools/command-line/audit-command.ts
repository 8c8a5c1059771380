// `rowhouse audit`: records who changes the rows of tables.
import { InvalidArgumentError, type Command } from 'commander'
import type { AuditedTable } from '../audit/audit.ts'
import type { RunQuery } from '../audit/audit-tables.ts'
import type { ConnectionWish, Dependencies } from './dependencies.ts'
import { CommandError } from './command-error.ts'
import { printMigration, withMigrationOptions, type MigrationOptions } from './printed-migration.ts'

type Options = MigrationOptions & { readonly months: number }

const owner: ConnectionWish = { role: 'owner', creates: false }

/** Months for which `audit maintain` creates partitions. */
const defaultMonths = 12

export function addAudit(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  const audit = program.command('audit').description('record who changes which rows of a table')
  for (const name of ['enable', 'disable'] as const) {
    withMigrationOptions(
      audit
        .command(name)
        .description(
          name === 'enable'
            ? 'print the migration that records all changes of tables'
            : 'print the migration that ends this; what was recorded stays',
        )
        .argument('<tables...>', 'names such as public.tasks'),
    ).action(async (tables: readonly string[], _own: unknown, command: Command) => {
      await printAuditMigration(name, tables, command.optsWithGlobals<Options>(), dependencies)
    })
  }
  audit
    .command('status')
    .description('list the audited tables: exit code 1 if changes may be missing')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      if (!(await printStatus(command.optsWithGlobals<Options>(), dependencies))) setExitCode(1)
    })
  audit
    .command('maintain')
    .description('create the partitions of the coming months')
    .option('--months <number>', 'how many months', readMonths, defaultMonths)
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      await maintain(command.optsWithGlobals<Options>(), dependencies)
    })
}

async function printAuditMigration(
  kind: 'enable' | 'disable',
  names: readonly string[],
  options: Options,
  dependencies: Dependencies,
): Promise<void> {
  const { findTables, isSetUp } = await import('../audit/audit-tables.ts')
  const { disablingSql, enablingSql } = await import('../audit/audit.ts')
  const sql = await dependencies.withDatabase(dependencies.loadConfig(options.config), owner, async ({ query }) => {
    const tables = await findAll(findTables, query, names)
    return kind === 'enable' ? enablingSql(tables, await isSetUp(query)) : disablingSql(tables)
  })
  await printMigration(`audit ${kind} ${names.join(' ')}`, sql, options, dependencies)
}

async function findAll(
  find: (query: RunQuery, name: string) => Promise<readonly AuditedTable[]>,
  query: RunQuery,
  names: readonly string[],
): Promise<readonly AuditedTable[]> {
  const found = new Map<string, AuditedTable>()
  for (const name of names) {
    for (const table of await find(query, name)) found.set(JSON.stringify([table.schema, table.name]), table)
  }
  return [...found.values()]
}

/** @returns whether all changes are recorded, each month in its partition */
async function printStatus(
  { json, config }: Options,
  { loadConfig, withDatabase, print }: Dependencies,
): Promise<boolean> {
  const { auditStatus, isSetUp, partitionStatus, recordStatus } = await import('../audit/audit-tables.ts')
  return withDatabase(loadConfig(config), owner, async ({ query }) => {
    const exists = await isSetUp(query)
    const tables = exists ? await auditStatus(query) : []
    // What was recorded stays when no table is audited any more.
    const record = exists ? await recordStatus(query) : []
    const partitions = tables.length > 0 ? await partitionStatus(query) : { monthsAhead: 0, hasDefaultRows: false }
    const isFine =
      record.length === 0 &&
      tables.every(({ problems }) => problems.length === 0) &&
      (tables.length === 0 || partitions.monthsAhead > 1)
    if (json) print(`${JSON.stringify({ tables, record, ...partitions })}\n`)
    else if (tables.length === 0 && record.length === 0)
      print('No table is audited. To audit one: rowhouse audit enable public.tasks\n')
    else {
      const lines = [...tables, ...record].map(({ table, problems }) =>
        problems.length === 0 ? `${table}: all changes are recorded` : `${table}: ${problems.join('; ')}`,
      )
      if (tables.length > 0 && partitions.monthsAhead < 2)
        lines.push('There is no partition for the next month: rowhouse audit maintain')
      if (partitions.hasDefaultRows) lines.push('Some changes are in the default partition.')
      print(`${lines.join('\n')}\n`)
    }
    return isFine
  })
}

async function maintain(
  { json, config, months }: Options,
  { loadConfig, withDatabase, print }: Dependencies,
): Promise<void> {
  const { isSetUp } = await import('../audit/audit-tables.ts')
  const created = await withDatabase(loadConfig(config), owner, async ({ query }) => {
    if (!(await isSetUp(query))) {
      throw new CommandError(
        'No table has been audited in this database. To audit one: rowhouse audit enable public.tasks',
      )
    }
    const { rows } = await query('select rowhouse_audit.create_partitions($1) as name', [months])
    return rows.map(({ name }) => String(name))
  })
  if (json) print(`${JSON.stringify({ created })}\n`)
  else print(created.length === 0 ? 'All partitions exist.\n' : `Created ${created.join(', ')}.\n`)
}

function readMonths(text: string): number {
  const months = Number(text)
  if (!/^\d+$/.test(text) || months < 1 || months > 120) throw new InvalidArgumentError('Allowed are 1 to 120.')
  return months
}
