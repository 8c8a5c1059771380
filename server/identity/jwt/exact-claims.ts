// Claims as JSON text that keeps digits of numbers which JavaScript would lose.
import { jsonMembers, jsonObject } from '../../text/json-members.ts'
import { JsonTokens } from '../../text/json-tokens.ts'

// More digits than a double can represent, or an exponent.
const inexact = /[\d.]{16}|\d[eE]/

/** The claims with `role` as JSON text, if parsing and printing `payload` could lose digits; otherwise undefined. */
export function exactClaims(payload: string, role: string): string | undefined {
  if (!hasInexactNumber(payload)) return undefined
  const members = jsonMembers(payload).set('role', JSON.stringify(role))
  return jsonObject(new Map(Array.from(members).sort(([one], [other]) => (one < other ? -1 : 1))))
}

function hasInexactNumber(payload: string): boolean {
  // Most payloads have no such digits, not even in strings.
  if (!inexact.test(payload)) return false
  const tokens = new JsonTokens(payload)
  for (let kind = tokens.next(); kind; kind = tokens.next()) {
    if (kind === 'scalar' && inexact.test(tokens.text)) return true
  }
  return false
}
