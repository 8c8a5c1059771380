// Options of `rowhouse users`.
import { InvalidArgumentError, type Command } from 'commander'
import type { Config } from '../../config/config.ts'
import { isJsonObject } from '../../text/json-object.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { durationHours } from './duration.ts'

export type PasswordOptions = { readonly passwordStdin?: true; readonly generatePassword?: true }

/** Adds the options of `newPassword`. */
export const withPassword = (command: Command, isAsked: boolean): Command =>
  command
    .option(
      '--password-stdin',
      `read the password from standard input, or ask for it${isAsked ? ' (the default)' : ''}`,
    )
    .option('--generate-password', 'create a random password, and print it')

export type NewPassword = {
  readonly password: string | undefined
  /** Whether it is to be printed, because the caller does not know it. */
  readonly isGenerated: boolean
}

/** @throws CommandError for both options at once, and as `readPassword` */
export async function newPassword(
  { passwordStdin, generatePassword }: PasswordOptions,
  dependencies: Pick<Dependencies, 'input' | 'printError'>,
  config: Config,
): Promise<NewPassword> {
  if (passwordStdin && generatePassword) {
    throw new CommandError('Choose one: --password-stdin or --generate-password.')
  }
  if (!passwordStdin && !generatePassword) return { password: undefined, isGenerated: false }
  const passwords = await import('../users/new-password.ts')
  if (generatePassword) return { password: passwords.generatePassword(config), isGenerated: true }
  return { password: passwordStdin && (await passwords.readPassword(dependencies)), isGenerated: false }
}

/** @throws InvalidArgumentError, which commander prints */
export function readMetadata(text: string): string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (!isJsonObject(value))
    throw new InvalidArgumentError('Allowed is a JSON object, such as \'{"full_name": "Ada"}\'.')
  return text
}

/** @throws InvalidArgumentError, which commander prints */
export const wholeNumber =
  (max: number) =>
  (text: string): number => {
    const value = Number(text)
    if (!/^\d{1,15}$/.test(text) || value < 1 || value > max) {
      throw new InvalidArgumentError(`Allowed is a whole number from 1 to ${max}.`)
    }
    return value
  }

/** Hours. @throws InvalidArgumentError, which commander prints */
export function readDuration(text: string): number {
  const hours = durationHours(text)
  if (hours === undefined || hours === 0 || hours > forever) {
    throw new InvalidArgumentError('Allowed are hours, days and weeks, such as 12h, 30d or 8w, up to 100 years.')
  }
  return hours
}

/** Hours of a ban that has no end: 100 years, which is as long as a ban can be set in Supabase's dashboard. */
export const forever = 876_000
