// Reads the value of a setting as text.
import { haskellNumber } from '../text/haskell.ts'
import type { GivenValue, Reading, SettingType } from './setting.ts'

/** Results of reading a value. */
export const value = <T>(it: T): Reading<T> => ({ kind: 'value', value: it })
export const unset = { kind: 'unset' } as const
export const mistyped = { kind: 'mistyped' } as const
export const invalid = (message: string): Reading<never> => ({ kind: 'invalid', message })

/** Like PostgREST, escapes only quotes. */
export const quoted = (text: string): string => `"${text.replaceAll('"', '\\"')}"`

/** The text of a value. PostgREST converts values of other types to the notation of its Haskell data types. */
export function textOf(given: GivenValue): string {
  if (typeof given === 'string') return given
  return shown(given)
}

function shown(given: GivenValue): string {
  switch (typeof given) {
    case 'string':
      return `String ${JSON.stringify(given)}`
    case 'boolean':
      return `Bool ${given ? 'True' : 'False'}`
    case 'number':
      return `Number ${haskellNumber(given)}`
    default:
      return `List [${given.map(shown).join(',')}]`
  }
}

/** A type whose values are parsed from text. Empty text is the same as not set. */
export function textual<T>(
  name: string,
  parse: (text: string) => Reading<T>,
  dump: (value: T) => string,
): SettingType<T> {
  return {
    name,
    read: (given) => {
      const text = textOf(given)
      if (text === '') return unset
      return text.includes('\0') ? invalid('must not contain the character NUL') : parse(text)
    },
    dump,
  }
}

/** The same, for a value that may be `@file`. White space around the contents of the file is not part of the value. */
export const textualOrFile = <T>(
  name: string,
  parse: (text: string) => Reading<T>,
  dump: (value: T) => string,
): SettingType<T> => ({
  ...textual(name, parse, dump),
  readContents: (contents) => parse(contents.toString().trim()),
})
