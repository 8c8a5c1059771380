// `rowhouse calls`: outgoing calls of webhooks and of the schema `net`.
import { InvalidArgumentError, type Command } from 'commander'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import type { CallEntry, CallState } from '../../services/console/webhook-protocol.ts'
import { CommandError } from './command-error.ts'
import type { ConnectionWish, Dependencies } from './dependencies.ts'
import { printable, textTable } from './text-table.ts'

type Shared = { readonly json?: true; readonly config?: string; readonly webhook?: string; readonly dead?: true }
type ListOptions = Shared & { readonly waiting?: true; readonly delivered?: true; readonly limit: number }

const owner: ConnectionWish = { role: 'owner', creates: false }

export function addCalls(program: Command, dependencies: Dependencies): void {
  const { print } = dependencies
  const withCalls = async <T>(file: string | undefined, use: (query: RunClientQuery) => Promise<T>): Promise<T> => {
    const { requireCalls } = await import('../webhooks/webhook-catalogue.ts')
    return dependencies.withDatabase(dependencies.loadConfig(file), owner, async ({ query }) => {
      await requireCalls(query)
      return use(query)
    })
  }
  const calls = program
    .command('calls')
    .description('list outgoing calls, the newest first')
    .helpCommand(false)
    .option('--dead', 'those that are put aside')
    .option('--waiting', 'those that are not delivered yet')
    .option('--delivered', 'those that are delivered')
    .option('--webhook <name>', 'those of a webhook, as in rowhouse webhook list, or the end of its name')
    .option('--limit <number>', 'the most calls', readLimit, 50)
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { json, config, webhook, limit, ...options } = command.optsWithGlobals<ListOptions>()
      const { newestCalls } = await import('../webhooks/calls.ts')
      const found = await withCalls(config, (query) =>
        newestCalls(query, { states: statesOf(options), webhook }, limit),
      )
      print(json ? `${JSON.stringify(found)}\n` : `${callsTable(found, limit)}\n`)
    })
  calls
    .command('show')
    .description('print all that is known of a call')
    .argument('<id>', 'id of the call, as in the list')
    .action(async (id: string, _own: unknown, command: Command) => {
      const { json, config } = command.optsWithGlobals<Shared>()
      const { showCall } = await import('../webhooks/calls.ts')
      const call = await withCalls(config, (query) => showCall(query, id))
      print(json ? `${JSON.stringify(call)}\n` : callText(call))
    })
  calls
    .command('send')
    .description('send calls again that are put aside')
    .argument('[ids...]', 'ids of the calls; or all of them with --dead')
    .action(async (ids: readonly string[], _own: unknown, command: Command) => {
      const { json, config, dead, webhook } = command.optsWithGlobals<Shared>()
      if ((ids.length === 0) === (dead === undefined))
        throw new CommandError('Specify the ids of calls, or --dead for all.')
      const { sendAgain, sendAllAgain } = await import('../webhooks/calls.ts')
      const sent = await withCalls(config, (query) => (dead ? sendAllAgain(query, webhook) : sendAgain(query, ids)))
      print(json ? `${JSON.stringify({ sent })}\n` : `${sent} ${sent === 1 ? 'call is' : 'calls are'} sent again.\n`)
    })
}

function statesOf({ dead, waiting, delivered }: Partial<ListOptions>): readonly CallState[] | undefined {
  const states: CallState[] = [
    ...(dead ? (['dead'] as const) : []),
    ...(waiting ? (['waiting', 'sending'] as const) : []),
    ...(delivered ? (['delivered'] as const) : []),
  ]
  return states.length === 0 ? undefined : states
}

function callsTable(calls: readonly CallEntry[], limit: number): string {
  if (calls.length === 0) return 'There are no such calls.'
  const second = (time: string): string => new Date(time).toISOString().slice(0, 19).replace('T', ' ')
  const table = textTable(
    [
      { title: 'ID', width: 36 },
      { title: 'CREATED (UTC)', width: 19 },
      { title: 'OF', width: 30 },
      { title: 'TO', width: 40 },
      { title: 'STATE', width: 24 },
      { title: 'ATTEMPTS', width: 8 },
      { title: 'LAST RESULT', width: 40 },
    ],
    calls.map((call) => [
      call.id,
      second(call.createdAt),
      printable(call.webhook ?? 'net'),
      printable(`${call.method} ${call.url}`),
      call.nextAt !== null && call.attempts > 0 ? `waiting until ${second(call.nextAt).slice(11)}` : call.state,
      String(call.attempts),
      printable([call.status, call.error].filter((part) => part !== null).join(' ')),
    ]),
  )
  return calls.length < limit ? table : `${table}\nThere may be more: --limit ${limit * 2}`
}

/** Fields with a value, a line each; long texts after them. */
function callText(call: Readonly<Record<string, unknown>>): string {
  const { body, response, ...fields } = call
  const text = (value: unknown): string => printable(typeof value === 'string' ? value : JSON.stringify(value))
  const known = Object.entries(fields).filter(([, value]) => value !== null)
  const width = Math.max(...known.map(([name]) => name.length))
  const lines = known.map(([name, value]) => `${name.padEnd(width)}  ${text(value)}`)
  const texts = [
    ['body', body],
    ['response', response],
  ].flatMap(([name, value]) => (typeof value === 'string' ? ['', `${String(name)}:`, printable(value)] : []))
  return `${[...lines, ...texts].join('\n')}\n`
}

/** @throws InvalidArgumentError, which commander prints */
function readLimit(text: string): number {
  const limit = Number(text)
  if (!/^\d+$/.test(text) || limit < 1 || limit > 10_000) throw new InvalidArgumentError('Allowed are 1 to 10000.')
  return limit
}
