// Checks that the servers give the same responses before their speed is measured.
import { isDeepStrictEqual } from 'node:util'
import type { Answer } from './request.ts'
import type { Workload } from './workloads.ts'

/** Columns whose values the database generates for every inserted row. */
const madeAnew = new Set(['id', 'created_at', 'updated_at'])

function withoutMade(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMade)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, madeAnew.has(key) ? 'made anew' : withoutMade(child)]),
  )
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}

/** Describes what is wrong with a response; undefined if it is as the workload expects. */
export function faultOf({ text, status }: Answer, workload: Workload): string | undefined {
  if (status !== workload.status) {
    return `answered ${status} instead of ${workload.status}: ${text.slice(0, 300)}`
  }
  const body = parsed(text)
  if (workload.rows !== undefined && (!Array.isArray(body) || body.length !== workload.rows)) {
    return `answered ${Array.isArray(body) ? body.length : 'no'} rows instead of ${workload.rows}`
  }
  if (workload.answer === 'error') {
    const { code, message } = (body ?? {}) as { code?: unknown; message?: unknown }
    if (typeof code !== 'string' || typeof message !== 'string') return `gave no error as JSON: ${text.slice(0, 300)}`
  }
  return undefined
}

/** Describes where two expected responses differ; undefined if they agree. */
export function differenceOf(one: Answer, other: Answer, workload: Workload): string | undefined {
  // Versions word their error messages differently.
  if (workload.answer === 'error') return undefined
  if (one.contentType !== other.contentType) return `content types ${one.contentType} and ${other.contentType}`
  if (one.contentRange !== other.contentRange) return `content ranges ${one.contentRange} and ${other.contentRange}`
  const [left, right] = workload.writes
    ? [withoutMade(parsed(one.text)), withoutMade(parsed(other.text))]
    : [parsed(one.text), parsed(other.text)]
  if (isDeepStrictEqual(left, right)) return undefined
  return `bodies ${one.text.slice(0, 300)} and ${other.text.slice(0, 300)}`
}
