// `rowhouse psql`: PostgreSQL's psql where it is installed, otherwise the shell of this program.
import { spawn } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import type { Client } from '../../postgres/connection/client.ts'
import { LibpqClient } from '../../postgres/connection/pool-config.ts'
import { libpqEnvironment, type Address } from '../../postgres/connection/libpq-environment.ts'
import { runInteractively } from './shell/interactive.ts'
import { linesOf } from './shell/lines.ts'
import { Shell, type Ending } from './shell/shell.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The full path of psql; undefined if it is not installed. */
export async function findPsql({ PATH = '' }: Environment): Promise<string | undefined> {
  for (const folder of PATH.split(delimiter)) {
    const path = join(folder, 'psql')
    const isProgram = await access(path, constants.X_OK).then(
      () => folder !== '',
      () => false,
    )
    if (isProgram) return path
  }
  return undefined
}

/**
 * Runs psql on the terminal of this process. The password is in its environment, not among its arguments.
 *
 * @param env of this process; its `PG…` variables are replaced by those of the address
 * @returns the exit code
 */
export async function runPsql(
  path: string,
  args: readonly string[],
  address: Address,
  env: Environment,
): Promise<number> {
  const others = Object.entries(env).filter(([name]) => !/^PG[A-Z]+$/.test(name))
  const child = spawn(path, args, {
    stdio: 'inherit',
    env: { ...Object.fromEntries(others), ...libpqEnvironment(address) },
  })
  const end = (): void => void child.kill()
  process.once('exit', end)
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject)
      // 128 and the number of the signal is a convention of shells; psql ends by a signal only if it is killed.
      child.once('close', (code) => resolve(code ?? 128))
    })
  } finally {
    process.removeListener('exit', end)
  }
}

/** What the built-in shell understands of psql's options. */
const options = {
  command: { type: 'string', short: 'c', multiple: true },
  file: { type: 'string', short: 'f', multiple: true },
  expanded: { type: 'boolean', short: 'x' },
  'no-align': { type: 'boolean', short: 'A' },
  'tuples-only': { type: 'boolean', short: 't' },
  'no-psqlrc': { type: 'boolean', short: 'X' },
  quiet: { type: 'boolean', short: 'q' },
  set: { type: 'string', short: 'v', multiple: true },
} as const

export type ShellArguments = {
  /** In the order given. */
  readonly actions: readonly { readonly kind: 'command' | 'file'; readonly value: string }[]
  readonly expanded: boolean
  readonly unaligned: boolean
  readonly tuplesOnly: boolean
  readonly quiet: boolean
  readonly stopsOnError: boolean
}

/** The arguments are for psql only. The message says what to do. */
export class ShellArgumentError extends Error {}

/** @throws ShellArgumentError */
export function shellArguments(args: readonly string[]): ShellArguments {
  const fail = (reason: string): never => {
    throw new ShellArgumentError(
      `${reason}. psql is not installed; rowhouse's own client understands -c, -f, -x, -A, -t, -q, -X and -v ON_ERROR_STOP=1.`,
    )
  }
  try {
    const { values, tokens } = parseArgs({
      args: [...args],
      options,
      strict: true,
      allowPositionals: false,
      tokens: true,
    })
    for (const text of values.set ?? []) if (!/^ON_ERROR_STOP(?:=|$)/.test(text)) fail(`-v ${text} is not supported`)
    return {
      actions: tokens.flatMap((token) =>
        token.kind === 'option' && (token.name === 'command' || token.name === 'file')
          ? [{ kind: token.name, value: token.value ?? '' }]
          : [],
      ),
      expanded: values.expanded ?? false,
      unaligned: values['no-align'] ?? false,
      tuplesOnly: values['tuples-only'] ?? false,
      quiet: values.quiet ?? false,
      stopsOnError: (values.set ?? []).some((text) => /^ON_ERROR_STOP=(?:1|on|true)$/i.test(text)),
    }
  } catch (error) {
    if (error instanceof ShellArgumentError) throw error
    return fail(error instanceof Error ? error.message.replace(/\.? To specify.*$/s, '') : String(error))
  }
}

export type ShellStreams = {
  readonly input: Readable & { readonly isTTY?: boolean }
  readonly output: Writable
  readonly errors: Writable
  /** Calls the listener at Ctrl-C. Returns the end of it. */
  readonly onInterrupt: (listener: () => void) => () => void
}

/**
 * Runs the built-in shell.
 *
 * @returns psql's exit codes: 0; 1 if a command of `-c` failed; 2 if the connection was lost; 3 if an error stopped a
 *   script; 130 if Ctrl-C did
 */
export async function runShell(client: Client, args: ShellArguments, streams: ShellStreams): Promise<number> {
  const { input, output, errors, onInterrupt } = streams
  const isInteractive = args.actions.length === 0 && input.isTTY === true
  const shell = await Shell.on(client, {
    output,
    errors,
    format: args,
    timing: false,
    quiet: args.quiet,
    stopsOnError: args.stopsOnError && !isInteractive,
  })
  const cancel = (): void => {
    if (client instanceof LibpqClient) client.requestCancel().catch(() => undefined)
  }
  let isInterrupted = false
  const dispose = onInterrupt(() => {
    isInterrupted = true
    cancel()
  })
  try {
    if (isInteractive) {
      if (!args.quiet) output.write('Type \\? for help, \\q to quit.\n\n')
      await runInteractively(shell, { input, output, cancel })
      return 0
    }
    const until = (): boolean => isInterrupted
    if (args.actions.length === 0) return codeOf(await shell.run(interruptible(linesOf(input), until)), isInterrupted)
    for (const { kind, value } of args.actions) {
      const ending =
        kind === 'command'
          ? await runCommand(shell, value)
          : value === '-'
            ? await shell.run(linesOf(input))
            : await shell.include(value)
      if (isInterrupted || ending === 'error') return codeOf(ending, isInterrupted)
      if (kind === 'command' && shell.hasFailed) return 1
    }
    return 0
  } catch (error) {
    // The connection was lost, and the shell has said so.
    if (shell.hasFailed) return 2
    throw error
  } finally {
    dispose()
  }
}

/** Reads no further line after Ctrl-C. */
const interruptible = (lines: ReturnType<typeof linesOf>, until: () => boolean): ReturnType<typeof linesOf> => ({
  next: (prompt) => (until() ? Promise.resolve(undefined) : lines.next(prompt)),
})

function runCommand(shell: Shell, text: string): Promise<Ending> {
  const lines = text.split('\n')
  return shell.run({ next: () => Promise.resolve(lines.shift()) })
}

const codeOf = (ending: Ending, isInterrupted: boolean): number => (isInterrupted ? 130 : ending === 'error' ? 3 : 0)
