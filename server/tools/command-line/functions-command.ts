// `rowhouse functions`: lists the functions of the project, creates one, calls one of the running server, and prints its log.
import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Writable } from 'node:stream'
import { InvalidArgumentError, type Command } from 'commander'
import type { Config } from '../../config/config.ts'
import { folderForFunction } from '../../config/project.ts'
import { keysFile, readDevelopmentKeys } from '../../running/development-keys-file.ts'
import type { FunctionLogs } from '../../services/console/function-protocol.ts'
import type { CheckedFunctions } from '../functions/checked-functions.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { messageOf } from './error-message.ts'
import { printable, textTable } from './text-table.ts'

type Shared = { readonly json?: true; readonly config?: string }
type CallOptions = Shared & {
  readonly data?: string
  readonly method?: string
  readonly header?: Readonly<Record<string, string>>
  readonly url?: string
  readonly key?: string
}

export function addFunctions(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  const { loadConfig, print } = dependencies
  const functions = program
    .command('functions')
    .description('list the functions of the project; exit code 1 if one does not compile')
    .helpCommand(false)
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { json, config } = command.optsWithGlobals<Shared>()
      const { checkFunctions } = await import('../functions/checked-functions.ts')
      const settings = loadConfig(config)
      const checked = await checkFunctions(settings, dependencies.env)
      if (checked.functions.some(({ fault }) => fault !== null)) setExitCode(1)
      print(json ? `${JSON.stringify(checked)}\n` : listText(checked, settings))
    })
  functions
    .command('new')
    .description('write the folder of a new function')
    .argument('<name>', 'letters, digits, - and _')
    .option('-c, --config <file>', 'configuration file')
    .action(async (name: string, _own: unknown, command: Command) => {
      const { json, config } = command.optsWithGlobals<Shared>()
      const { createFunction } = await import('../functions/new-function.ts')
      const file = await createFunction(await folderForFunction(loadConfig(config).functionsDir), name)
      print(
        json ? `${JSON.stringify({ file })}\n` : `Wrote ${shown(file)}. To call it: rowhouse functions call ${name}\n`,
      )
    })
  functions
    .command('call')
    .description('call a function of the running server, and print its response; exit code 1 unless it is 2xx')
    .argument('<name>', 'name of the function, with a path and a query if it has some')
    .option('--data <text>', 'body of the request; @file for a file')
    .option('--method <method>', 'POST, or GET without a body')
    .option('--header <header>', "a header such as 'Content-Type: text/plain'; may be repeated", readHeader)
    .option('--key <key>', 'API key or token; by default the publishable development key')
    .option('--url <url>', 'address of the running service')
    .option('-c, --config <file>', 'configuration file')
    .action(async (name: string, _own: unknown, command: Command) => {
      const options = command.optsWithGlobals<CallOptions>()
      setExitCode(await callFunction(name, options, dependencies))
    })
  functions
    .command('logs')
    .description('print what a function of the running server has logged, the newest last')
    .argument('<name>', 'name of the function')
    .option('--url <url>', 'address of the running service')
    .option('-c, --config <file>', 'configuration file')
    .action(async (name: string, _own: unknown, command: Command) => {
      const { json, config: file, url } = command.optsWithGlobals<Shared & { readonly url?: string }>()
      const { readFunctionLogs } = await import('../functions/function-logs.ts')
      const config = loadConfig(file)
      const address = (url ?? `http://127.0.0.1:${config.serverPort}`).replace(/\/+$/, '')
      const logs = await dependencies.withDatabase(config, { role: 'owner', creates: false }, ({ query }) =>
        readFunctionLogs(query, address, name),
      )
      print(json ? `${JSON.stringify(logs)}\n` : logText(name, logs))
      if (logs.missing > 0) {
        const processes = logs.missing === 1 ? 'one process' : `${logs.missing} processes`
        dependencies.printError(`The lines of ${processes} of SERVER_WORKERS are missing: no answer within a second.\n`)
      }
    })
}

const logText = (name: string, { lines }: FunctionLogs): string =>
  lines.length === 0
    ? `${printable(name)} has logged nothing since the server was started.\n`
    : lines
        .map(
          ({ at, level, requestId, message }) =>
            `${at} ${level.padEnd(5)} ${requestId ?? '-'} ${printableLines(message)}\n`,
        )
        .join('')

const shown = (path: string): string => {
  const near = relative(process.cwd(), path)
  return near.startsWith('..') ? path : near
}

function listText({ folder, functions, notes }: CheckedFunctions, { functionsUrl }: Config): string {
  const lines = [
    ...(functionsUrl === null ? [] : [`Calls are passed on to ${functionsUrl} (FUNCTIONS_URL).`]),
    ...(folder === null ? ['There is no folder of functions. To begin: rowhouse functions new hello'] : []),
    ...(folder !== null && functions.length === 0
      ? [`${shown(folder)} has no functions: folders with an index.ts.`]
      : []),
  ]
  if (functions.length > 0) {
    const columns = [
      { title: 'NAME', width: 40 },
      { title: 'FILE', width: 60 },
      { title: 'TOKEN', width: 12 },
      { title: 'COMPILES', width: 8 },
    ]
    const rows = functions.map(({ name, entrypoint, verifyJwt, fault }) => [
      name,
      printable(shown(entrypoint)),
      verifyJwt ? 'required' : 'not checked',
      fault === null ? 'yes' : 'no',
    ])
    lines.push(textTable(columns, rows).trimEnd())
  }
  for (const { name, fault } of functions) if (fault !== null) lines.push('', `${name}: ${printableLines(fault)}`)
  if (notes.length > 0) lines.push('', ...notes.map(printable))
  return `${lines.join('\n')}\n`
}

const printableLines = (text: string): string => text.split('\n').map(printable).join('\n')

/** @returns the exit code */
async function callFunction(
  name: string,
  { data, method, header = {}, url, key, json, config: file }: CallOptions,
  { loadConfig, output, printError }: Dependencies,
): Promise<number> {
  const config = loadConfig(file)
  const credential = key ?? (await readDevelopmentKeys(join(config.dataDir, keysFile)))?.publishableKey
  if (credential === undefined) throw new CommandError('Specify an API key or a token: --key <key>.')
  const body = data?.startsWith('@') === true ? await readFile(data.slice(1)) : data
  const target = new URL(`functions/v1/${name}`, `${url ?? `http://127.0.0.1:${config.serverPort}`}/`)
  const response = await fetch(target, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      Authorization: `Bearer ${credential}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...header,
    },
    ...(body === undefined ? {} : { body }),
  }).catch((error: unknown) => {
    throw new CommandError(`${target.origin} cannot be reached: ${messageOf(error)}. Does \`rowhouse serve\` run?`)
  })
  if (json) {
    const text = await response.text()
    await write(
      output,
      `${JSON.stringify({ status: response.status, headers: Object.fromEntries(response.headers), body: text })}\n`,
    )
  } else {
    if (!response.ok) printError(`${response.status} ${response.statusText}\n`)
    for await (const chunk of response.body ?? []) await write(output, chunk as Uint8Array)
    await write(output, '\n')
  }
  return response.ok ? 0 : 1
}

const write = (output: Writable, text: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => output.write(text, (error) => (error ? reject(error) : resolve())))

function readHeader(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('A header is a name, a colon and a value.')
  return { ...before, [name]: value }
}
