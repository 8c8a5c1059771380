// The differences between two responses to one request.
import { isDeepStrictEqual } from 'node:util'
import type { AnswerHeader, RawAnswer } from './sent-request.ts'

/** The headers that are relevant to clients. */
export const comparedHeaders = [
  'Access-Control-Allow-Credentials',
  'Access-Control-Allow-Headers',
  'Access-Control-Allow-Methods',
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
  'Access-Control-Max-Age',
  'Allow',
  'Content-Length',
  'Content-Location',
  'Content-Profile',
  'Content-Range',
  'Content-Type',
  'Location',
  'Preference-Applied',
  'Proxy-Status',
  'Range-Unit',
  'Vary',
  'Warning',
  'WWW-Authenticate',
] as const satisfies readonly AnswerHeader[]

export type Aspect = 'status' | 'body' | (typeof comparedHeaders)[number]

export type Difference = { readonly aspect: Aspect; readonly theirs: unknown; readonly ours: unknown }

/** A body as a value if it is JSON, else as text, or in hexadecimal digits. */
export function bodyOf({ header, body }: RawAnswer): unknown {
  const text = body.toString()
  if (header('Content-Type')?.includes('json')) {
    try {
      return JSON.parse(text) as unknown
    } catch {
      return text
    }
  }
  return Buffer.from(text).equals(body) ? text : body.toString('hex')
}

/** The aspects that differ; empty if the responses are equal. */
export function differences(theirs: RawAnswer, ours: RawAnswer): Difference[] {
  const found: Difference[] = []
  const compare = (aspect: Aspect, theirs: unknown, ours: unknown): void => {
    if (!isDeepStrictEqual(theirs, ours)) found.push({ aspect, theirs, ours })
  }
  compare('status', theirs.status, ours.status)
  for (const name of comparedHeaders) compare(name, theirs.header(name), ours.header(name))
  compare('body', bodyOf(theirs), bodyOf(ours))
  return found
}
