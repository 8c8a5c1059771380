// New passwords for accounts: from standard input, or random ones. Never from an argument, which shells record.
import { randomInt } from 'node:crypto'
import { createInterface } from 'node:readline'
import { Writable, type Readable } from 'node:stream'
import type { AuthSettings } from '../../services/auth/settings.ts'
import { CommandError } from '../command-line/command-error.ts'

export type PasswordSource = {
  /** Standard input. A terminal is asked twice and shows nothing of what is typed. */
  readonly input: Readable & { readonly isTTY?: boolean }
  /** For the questions. */
  readonly printError: (text: string) => void
}

/** @throws CommandError for an empty, long or unreadable password, and for two different ones */
export async function readPassword({ input, printError }: PasswordSource): Promise<string> {
  if (input.isTTY !== true) return lineOf(await readAll(input))
  const read = hiddenLines(input)
  try {
    printError('New password: ')
    const first = await read.next()
    printError('\nThe same again: ')
    const second = await read.next()
    printError('\n')
    if (first !== second) throw new CommandError('The two passwords differ.')
    return lineOf(first)
  } finally {
    read.close()
  }
}

/** Bytes: far more than a password may have, so that a file is refused which was passed by mistake. */
const maxInput = 4096

async function readAll(input: Readable): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of input as AsyncIterable<Buffer | string>) {
    const buffer = Buffer.from(piece)
    pieces.push(buffer)
    bytes += buffer.length
    if (bytes > maxInput)
      throw new CommandError(`Standard input has more than ${maxInput} bytes. Pass only the password.`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(pieces))
  } catch (error) {
    throw new CommandError('The password on standard input is not valid UTF-8.', { cause: error })
  }
}

/** The password of a text that may end with one line break. */
function lineOf(text: string): string {
  const password = text.replace(/\r?\n$/, '')
  if (password === '') throw new CommandError('The password is empty. Pass it on standard input, as one line.')
  if (/[\r\n]/.test(password))
    throw new CommandError('Standard input has several lines. Pass the password as one line.')
  if (password.includes('\0')) throw new CommandError('The password contains the character NUL, which none may have.')
  return password
}

/** Lines that are typed on a terminal, which does not show them. */
function hiddenLines(input: Readable): { readonly next: () => Promise<string>; readonly close: () => void } {
  const nowhere = new Writable({ write: (_piece, _encoding, done) => done() })
  const terminal = createInterface({ input, output: nowhere, terminal: true, historySize: 0 })
  const cancelled = new Promise<never>((_, reject) => {
    terminal.once('SIGINT', () => reject(new CommandError('Cancelled: no password was entered.')))
    terminal.once('close', () => reject(new CommandError('Cancelled: no password was entered.')))
  })
  // Also rejected at the end, when it is of no interest any more.
  cancelled.catch(() => undefined)
  const lines: AsyncIterator<string, undefined> = terminal[Symbol.asyncIterator]()
  return {
    next: async () => {
      const { value } = await Promise.race([lines.next(), cancelled])
      return value ?? ''
    },
    close: () => terminal.close(),
  }
}

const letters = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** About 116 bits. */
const leastLength = 20

/** A random password that follows the rules of the settings. Its letters and digits cannot be mistaken for each other. */
export function generatePassword({
  authPasswordMinLength: min,
  authPasswordRequiredCharacters: sets,
}: Pick<AuthSettings, 'authPasswordMinLength' | 'authPasswordRequiredCharacters'>): string {
  const characters = sets.map((set) => anyOf([...set]))
  while (characters.length < Math.max(min, leastLength)) characters.push(anyOf([...letters]))
  // Fisher and Yates: the required characters have no fixed places.
  for (let last = characters.length - 1; last > 0; last--) {
    const other = randomInt(last + 1)
    const moved = characters[last] ?? ''
    characters[last] = characters[other] ?? ''
    characters[other] = moved
  }
  return characters.join('')
}

const anyOf = (characters: readonly string[]): string => characters[randomInt(characters.length)] ?? ''
