// Two responses to one request, and how they differ.
import { bodyOf } from './differences.ts'
import type { RawAnswer, SentRequest } from './sent-request.ts'

export type Pair = { readonly request: SentRequest; readonly theirs: RawAnswer; readonly ours: RawAnswer }

type ErrorField = 'code' | 'message' | 'details' | 'hint'

/** The body of an error; empty if it is no object. */
export const errorOf = (answer: RawAnswer): Readonly<Partial<Record<ErrorField, unknown>>> => {
  const body = bodyOf(answer)
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {}
}

/** The text of a field of an error; empty if there is none. */
export const said = (answer: RawAnswer, field: ErrorField): string => {
  const text = errorOf(answer)[field]
  return typeof text === 'string' ? text : ''
}

export const code = (answer: RawAnswer): string => said(answer, 'code')

/** Whether a response is an error of this kind. Without a body, only the status is compared. */
export const is = (answer: RawAnswer, status: number, wanted: string): boolean =>
  answer.status === status && (answer.body.length === 0 || code(answer) === wanted)

/** Whether two errors are equal except for some fields. */
export function sameBut({ theirs, ours }: Pair, ...fields: readonly ErrorField[]): boolean {
  const others = (['code', 'message', 'details', 'hint'] as const).filter((field) => !fields.includes(field))
  const [a, b] = [errorOf(theirs), errorOf(ours)]
  return a.code !== undefined && others.every((field) => a[field] === b[field])
}

/** Whether the total in `Content-Range` equals the number of rows. */
export function hasTotalOfItsRows(answer: RawAnswer): boolean {
  const range = answer.header('Content-Range') ?? ''
  const [, last, total] = /^0-([0-9]+)\/([0-9]+)$/.exec(range) ?? []
  return range === '*/0' || (last !== undefined && Number(last) + 1 === Number(total))
}
