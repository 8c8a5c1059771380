// `rowhouse explain`: what decides the result of a request.
import { readFile } from 'node:fs/promises'
import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Claims } from '../../identity/identity.ts'
import { CommandError } from './command-error.ts'
import type { ConnectionWish, Dependencies } from './dependencies.ts'

type Options = {
  readonly as?: string
  readonly role?: string
  readonly claims?: Claims
  readonly key?: string
  readonly data?: string
  readonly header?: readonly string[]
  readonly trust?: readonly string[]
  readonly dbUrl?: string
  readonly sql?: true
  readonly json?: true
  readonly config?: string
}

/** Exit code of a request that could not be explained, distinct from that of one that was not run (1). */
const couldNotExplain = 2

const reading: ConnectionWish = { role: 'authenticator', creates: false }

export function addExplain(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  program
    .command('explain')
    .description('run a request without effect, and explain its result: policies, grants, rows, plan, cost')
    .argument('<request>', 'method and path, such as "GET /rest/v1/tasks?select=*"')
    .addOption(new Option('--as <email>', 'the account that sends it').conflicts('key'))
    .addOption(new Option('--key <key>', 'the API key that it is sent with'))
    .option('--role <role>', 'the role; defaults to that of the account or key, or the anonymous one')
    .option('--claims <json>', 'further claims, such as {"aal":"aal2"}', readClaims)
    .option('-d, --data <body>', 'the body; @file reads a file')
    .option('-H, --header <header>', 'a header, such as "Prefer: return=representation"', collect)
    .option('--trust <function>', 'run it although this function may have effects that remain', collect)
    .option('--sql', 'print the SQL of the request, too')
    .option('--db-url <url>', 'connection string; defaults to the database that is served')
    .option('-c, --config <file>', 'configuration file')
    .action(async (line: string, _own: unknown, command: Command) => {
      try {
        if (!(await run(line, command.optsWithGlobals<Options>(), dependencies))) setExitCode(1)
      } catch (error) {
        setExitCode(couldNotExplain)
        throw error
      }
    })
}

/** @returns false if the request was not run, because its effects could remain */
async function run(line: string, options: Options, dependencies: Dependencies): Promise<boolean> {
  const { print, withDatabase, withDatabaseSettings, bodyValidator } = dependencies
  const { as, key, role, claims, header = [], trust = [] } = options
  // Imported on demand, so that other commands start quickly.
  const { parseRequest } = await import('../explain/request-line.ts')
  const { loadOffline } = await import('../explain/offline.ts')
  const { explanationText } = await import('../explain/text.ts')
  const config = await withDatabaseSettings(options.config, options.dbUrl)
  const data = options.data === undefined ? undefined : await readData(options.data)
  const request = parseRequest({ line, data, headers: header }, config.restBasePath)
  const validator = await bodyValidator(config)
  const explanation = await withDatabase(config, reading, async ({ scratch }) => {
    const explain = await loadOffline({ database: { scratch }, config, validator })
    return explain(request, { as, key, role, claims }, trust)
  })
  print(options.json ? `${JSON.stringify(explanation)}\n` : explanationText(explanation, options.sql))
  return explanation.effects.refused.length === 0
}

async function readData(text: string): Promise<Buffer> {
  if (!text.startsWith('@')) return Buffer.from(text)
  try {
    return await readFile(text.slice(1))
  } catch (error) {
    throw new CommandError(`The body cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function readClaims(text: string): Claims {
  const fail = (): never => {
    throw new InvalidArgumentError('Allowed is a JSON object, such as {"sub":"…","aal":"aal2"}.')
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return fail()
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Claims) : fail()
}

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value]
