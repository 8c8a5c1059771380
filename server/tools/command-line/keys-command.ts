// `rowhouse keys`: manages API keys.
import { InvalidArgumentError, type Command } from 'commander'
import { CommandError } from './command-error.ts'
import type { ApiKey, ApiKeyLimits } from '../../identity/api-key/api-key.ts'
import { allowedLimit, keyLimitNames, parseLimit, type LimitName } from '../../identity/limits.ts'
import type { Dependencies, DatabaseOperations } from './dependencies.ts'
import { durationHours } from './duration.ts'
import { requireKeys, withKeyRights } from './key-rights.ts'
import { printable, textTable } from './text-table.ts'

type Shared = { readonly json?: true; readonly config?: string }
type CreateOptions = Shared & {
  readonly role?: string
  readonly user?: string
  readonly label?: string
  readonly expires?: Date
}

export function addKeys(program: Command, dependencies: Dependencies): void {
  const { print } = dependencies
  const withKeys = async <T>(
    file: string | undefined,
    use: (session: DatabaseOperations) => Promise<T>,
  ): Promise<T> => {
    const config = dependencies.loadConfig(file)
    return withKeyRights(config, () =>
      dependencies.withDatabase(config, { role: 'owner', creates: false }, async (session) => {
        await requireKeys(session.query)
        return use(session)
      }),
    )
  }
  const keys = program.command('keys').description('create, list, limit and revoke API keys').helpCommand(false)

  keys
    .command('create')
    .description('create a key and print it; it cannot be shown again')
    .option('--role <name>', 'database role that the key acts as; `authenticated` with --user')
    .option('--user <id>', 'user that the key acts as')
    .option('--label <text>', 'what the key is for')
    .option(
      '--expires <when>',
      'a time such as 2030-01-31 or 2030-01-31T12:00:00Z, or a duration: 12h, 30d',
      readExpiry,
    )
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { role: given, user, label, expires, json, config } = command.optsWithGlobals<CreateOptions>()
      const role = given ?? (user === undefined ? undefined : 'authenticated')
      if (role === undefined)
        throw new CommandError('Specify who the key acts as: --role anon, --role service_role, or --user <id>.')
      const created = await withKeys(config, ({ createApiKey }) =>
        createApiKey({
          role,
          label: label ?? `${role} key`,
          ...(user === undefined ? {} : { userId: user }),
          ...(expires === undefined ? {} : { expiresAt: expires }),
        }),
      )
      if (json) return print(`${JSON.stringify(created)}\n`)
      print(`${created.key}\n\nThe key cannot be shown again. To revoke it: rowhouse keys revoke ${created.id}\n`)
    })

  keys
    .command('list')
    .description('list all keys, without their secrets')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { json, config } = command.optsWithGlobals<Shared>()
      const all = await withKeys(config, ({ listApiKeys }) => listApiKeys())
      print(json ? `${JSON.stringify(all)}\n` : `${keysTable(all, new Date())}\n`)
    })

  const limit = keys
    .command('limit')
    .description('replace the limits of a key: those that are given, or none')
    .argument('<id>', 'id of the key, as in the list')
  for (const name of keyLimitNames) {
    limit.option(`--${name.replaceAll('_', '-')} <number>`, limitTexts[name], readLimit(name))
  }
  limit
    .option('-c, --config <file>', 'configuration file')
    .action(async (id: string, _own: unknown, command: Command) => {
      const options = command.optsWithGlobals<Shared & Readonly<Record<string, unknown>>>()
      const given = keyLimitNames.flatMap((name) => {
        const value = options[camelCase(name)]
        return typeof value === 'number' ? [[name, value] as const] : []
      })
      const limits: ApiKeyLimits | undefined = given.length === 0 ? undefined : Object.fromEntries(given)
      const isKnown = await withKeys(options.config, ({ setApiKeyLimits }) => setApiKeyLimits(id, limits))
      if (!isKnown) throw new CommandError(`There is no key ${printable(id)}.`)
      const text = given.map(([name, value]) => `${name} ${value}`).join(', ')
      print(
        options.json ? `${JSON.stringify({ id, limits: limits ?? null })}\n` : `Limits of ${id}: ${text || 'none'}.\n`,
      )
    })

  keys
    .command('revoke')
    .description('revoke a key permanently')
    .argument('<id>', 'id of the key, as in the list')
    .option('-c, --config <file>', 'configuration file')
    .action(async (id: string, _own: unknown, command: Command) => {
      const { json, config } = command.optsWithGlobals<Shared>()
      const revoked = await withKeys(config, ({ revokeApiKey }) => revokeApiKey(id))
      if (!revoked) throw new CommandError(`There is no active key ${printable(id)}.`)
      print(json ? `${JSON.stringify({ id, revoked })}\n` : `Revoked ${id}.\n`)
    })
}

const limitTexts: Readonly<Record<LimitName, string>> = {
  max_rows: 'rows of a response and of each embed',
  max_cost: "cost of a request's statement by the planner's estimate",
  max_embed_depth: 'embeds inside each other',
  max_requests_per_second: 'requests per second, on average',
  max_request_burst: 'requests at once; by default those of one second',
  max_user_requests_per_second: 'requests of each user per second',
  max_user_request_burst: 'requests of each user at once',
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** @throws InvalidArgumentError, which commander prints */
const readLimit =
  (name: LimitName) =>
  (text: string): number => {
    const value = parseLimit(name, text)
    if (typeof value !== 'number')
      throw new InvalidArgumentError(`Allowed is ${allowedLimit(name).replace(' or none', '')}.`)
    return value
  }

/** @throws InvalidArgumentError, which commander prints */
export function readExpiry(text: string): Date {
  const hours = durationHours(text)
  if (hours !== undefined) return new Date(Date.now() + hours * 3_600_000)
  const isTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
  const time = new Date(text)
  // Rejects dates such as 2030-02-31, which `Date` would read as the third of March.
  const isReal =
    isTime &&
    !Number.isNaN(time.getTime()) &&
    new Date(`${text.slice(0, 10)}T00:00:00Z`).toISOString().startsWith(text.slice(0, 10))
  if (!isReal)
    throw new InvalidArgumentError('Allowed are a time such as 2030-01-31 or 2030-01-31T12:00:00Z, or 12h, 30d, 8w.')
  return time
}

function keysTable(keys: readonly ApiKey[], now: Date): string {
  if (keys.length === 0) return 'There are no keys.'
  const minute = (time: Date): string => time.toISOString().slice(0, 16).replace('T', ' ')
  const state = ({ revokedAt, expiresAt }: ApiKey): string => {
    if (revokedAt) return `revoked ${minute(revokedAt)}`
    if (!expiresAt) return 'always'
    return expiresAt <= now ? `expired ${minute(expiresAt)}` : `until ${minute(expiresAt)}`
  }
  return textTable(
    [
      { title: 'ID', width: 36 },
      { title: 'KEY', width: 20 },
      { title: 'ACTS AS', width: 14 },
      { title: 'LABEL', width: 16 },
      { title: 'VALID (UTC)', width: 24 },
    ],
    keys.map((key) => [
      key.id,
      `${printable(key.hint)}…`,
      printable(key.userId === null ? key.role : `user ${key.userId.slice(0, 8)}…`),
      printable(key.label),
      state(key),
    ]),
  )
}
