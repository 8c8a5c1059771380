// The types of settings that are numbers, sizes, and booleans, which PostgREST reads from numbers, too.
import { availableParallelism } from 'node:os'
import type { GivenValue, Reading, SettingType } from './setting.ts'
import { invalid, mistyped, textOf, unset, value } from './setting-reading.ts'

/** Parses an integer like Haskell's `read`: surrounding blanks, a minus sign, decimal, `0x` or `0o`. */
function wholeNumber(digits: string): number | undefined {
  const match = /^\s*(-?)\s*(\d+|0[xX][\da-fA-F]+|0[oO][0-7]+)\s*$/.exec(digits)
  return match ? Number(match[2]) * (match[1] === '-' ? -1 : 1) : undefined
}

type Bounds = { readonly min: number; readonly max?: number }

function readInteger(given: GivenValue, { min, max = Number.MAX_SAFE_INTEGER }: Bounds): Reading<number> {
  if (given === '') return unset
  if (typeof given !== 'string' && typeof given !== 'number') return mistyped
  const number = typeof given === 'number' ? given : wholeNumber(given)
  if (number === undefined || !Number.isInteger(number)) return invalid('must be a whole number')
  if (number > Number.MAX_SAFE_INTEGER) return invalid('is too large')
  if (number < min || number > max) {
    const isOpen = max === Number.MAX_SAFE_INTEGER
    return invalid(isOpen ? `must be ${min} or more` : `must be a number between ${min} and ${max}`)
  }
  return value(number)
}

export const integer = (bounds: Bounds): SettingType<number> => ({
  name: 'number',
  read: (given) => readInteger(given, bounds),
  dump: String,
})

export const optionalInteger = (bounds: Bounds): SettingType<number | null> => ({
  name: 'number',
  read: (given) => readInteger(given, bounds),
  dump: (it) => (it === null ? '""' : String(it)),
})

export const boolean: SettingType<boolean> = {
  name: 'boolean',
  read: (given) => {
    if (typeof given === 'boolean') return value(given)
    if (typeof given !== 'string') return mistyped
    if (given === '') return unset
    const letters = given.replace(/\P{L}/gu, '').toLowerCase()
    if (letters === 'true' || letters === 'false') return value(letters === 'true')
    const number = wholeNumber(given)
    return number === undefined ? invalid('must be true or false') : value(number > 0)
  },
  dump: String,
}

const sizeUnits = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 } as const

const readSize = (given: GivenValue, min: 0 | 1): Reading<number> => {
  if (given === '') return unset
  const match = /^(\d{1,12})\s*([kmg]?)(?:i?b)?$/i.exec(
    typeof given === 'number' ? String(given) : textOf(given).trim(),
  )
  const bytes = match ? Number(match[1]) * sizeUnits[(match[2] ?? '').toLowerCase() as keyof typeof sizeUnits] : -1
  return bytes >= min && Number.isSafeInteger(bytes)
    ? value(bytes)
    : invalid(`must be a size such as 100kb, 10mb or 1048576${min === 0 ? ', or 0' : ''}`)
}

/** A number of bytes: `102400`, `100kb`, `10 MiB`. Units are powers of 1024. */
export const size: SettingType<number> = { name: 'size', read: (given) => readSize(given, 1), dump: String }

/** A number of bytes that may be 0. */
export const sizeOrZero: SettingType<number> = { name: 'size', read: (given) => readSize(given, 0), dump: String }

/** A number of processes. `auto` is the number of available processors. */
export const workers: SettingType<number> = {
  name: 'number',
  read: (given) => (given === 'auto' ? value(availableParallelism()) : readInteger(given, { min: 1, max: 256 })),
  dump: String,
}

/** A boolean whose default depends on something else, represented by null. */
export const optionalBoolean: SettingType<boolean | null> = {
  ...boolean,
  dump: (it) => (it === null ? '""' : boolean.dump(it)),
}

/** A number from 0 to 1. */
export const fraction: SettingType<number> = {
  name: 'number',
  read: (given) => {
    if (given === '') return unset
    if (typeof given !== 'string' && typeof given !== 'number') return mistyped
    const number = typeof given === 'number' ? given : /^\s*(\d+(\.\d*)?|\.\d+)\s*$/.test(given) ? Number(given) : NaN
    return number >= 0 && number <= 1 ? value(number) : invalid('must be a number from 0 to 1, such as 0.1')
  },
  dump: String,
}
