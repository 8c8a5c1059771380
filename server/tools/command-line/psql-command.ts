// `rowhouse psql` and `rowhouse url`: ways into the database for people and for other programs.
import { Option, type Command } from 'commander'
import type { Config } from '../../config/config.ts'
import { connectionUrl, libpqEnvironment } from '../../postgres/connection/libpq-environment.ts'
import type { DatabaseAddress } from './database-address.ts'
import { CommandError } from './command-error.ts'
import type { ConnectionWish, Dependencies } from './dependencies.ts'

type PsqlOptions = { readonly role: string; readonly config?: string; readonly builtin?: true }
type UrlOptions = {
  readonly role: string
  readonly config?: string
  readonly password: boolean
  readonly env?: true
  readonly json?: true
}

const roleOption = (): Option =>
  new Option('--role <name>', 'owner, authenticator, or a role that authenticator switches to').default('owner')

/** Options of `rowhouse psql` itself, which come before those of psql. */
const ownOptions: Readonly<Record<string, 'value' | 'flag'>> = {
  '--role': 'value',
  '--config': 'value',
  '--builtin': 'flag',
  '--help': 'flag',
}

/** Keeps the arguments for psql from being read as options of this program: inserts `--` in front of them. */
export function separatePsqlArguments(args: readonly string[]): readonly string[] {
  if (args[0] !== 'psql') return args
  let end = 1
  while (end < args.length) {
    const word = args[end] ?? ''
    const kind = ownOptions[word.split('=')[0] ?? '']
    if (kind === undefined) break
    end += kind === 'value' && !word.includes('=') ? 2 : 1
  }
  return [...args.slice(0, end), '--', ...args.slice(end)]
}

export function addPsql(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  program
    .command('psql')
    .description("open PostgreSQL's psql, or a small client in its place where it is not installed")
    .usage('[--role NAME] [--config FILE] [arguments of psql]')
    .argument('[args...]', 'arguments of psql')
    .addOption(roleOption())
    .option('--builtin', 'use the small client, even if psql is installed')
    .option('--config <file>', 'configuration file')
    .action(async (args: readonly string[], _own: unknown, command: Command) => {
      const { role, config: file, builtin } = command.opts<PsqlOptions>()
      const { findPsql, runPsql, runShell, shellArguments } = await import('../database-access/psql.ts')
      const { loadConfig, env, onInterrupt, output, errors, connectTo } = dependencies
      const path = builtin ? undefined : await findPsql(env)
      // Before a database is started for arguments that are wrong.
      const understood = path === undefined ? shellArguments(args) : undefined
      const code = await withRole(dependencies, loadConfig(file), role, {}, async (address) => {
        if (understood) {
          const { input } = dependencies
          return connectTo(address, (client) => runShell(client, understood, { input, output, errors, onInterrupt }))
        }
        // psql handles Ctrl-C itself.
        const dispose = onInterrupt(() => undefined)
        try {
          return await runPsql(path ?? '', args, address, env)
        } finally {
          dispose()
        }
      })
      if (code !== 0) setExitCode(code)
    })
}

export function addUrl(program: Command, dependencies: Dependencies): void {
  program
    .command('url')
    .description('print the connection URL of the database')
    .addOption(roleOption())
    .option('--no-password', 'leave out the password')
    .option('--env', "print shell commands that set libpq's variables, such as PGPASSWORD, instead")
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { role, config: file, password, env, json } = command.optsWithGlobals<UrlOptions>()
      const { loadConfig, print } = dependencies
      await withRole(dependencies, loadConfig(file), role, { starts: false }, (address) => {
        if (env) {
          const variables = Object.entries(libpqEnvironment(address)).filter(
            ([name]) => name.startsWith('PG') && (password || name !== 'PGPASSWORD'),
          )
          if (json) print(`${JSON.stringify(Object.fromEntries(variables))}\n`)
          else print(variables.map(([name, value]) => `export ${name}=${quoted(value)}\n`).join(''))
          return Promise.resolve()
        }
        const url = connectionUrl(address, { password })
        print(json ? `${JSON.stringify({ url })}\n` : `${url}\n`)
        return Promise.resolve()
      })
    })
}

/** Quotes a word for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Runs `use` with an address whose sessions act as the role. Verifies that they can. */
async function withRole<T>(
  { withAddress, connectTo }: Pick<Dependencies, 'withAddress' | 'connectTo'>,
  config: Config,
  role: string,
  wish: Pick<ConnectionWish, 'starts'>,
  use: (address: DatabaseAddress) => Promise<T>,
): Promise<T> {
  const login = role === 'owner' ? 'owner' : 'authenticator'
  return withAddress(config, { role: login, creates: false, ...wish }, async (address) => {
    if (role === login) return use(address)
    const known = await connectTo(address, async (client) => {
      const { rows } = await client.query<{ name: string }>(
        `select rolname as name from pg_catalog.pg_roles
         where pg_catalog.pg_has_role(oid, 'member') and rolname not like 'pg\\_%' order by rolname = session_user, rolname`,
      )
      return rows.map(({ name }) => name)
    })
    if (!known.includes(role)) {
      throw new CommandError(`The database has no role ${role} to switch to. There are: ${known.join(', ')}.`)
    }
    return use({ ...address, uri: connectionUrl(address, { role }) })
  })
}
