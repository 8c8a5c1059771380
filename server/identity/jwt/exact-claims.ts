// Claims as JSON text that keeps digits of numbers which JavaScript would lose.
import { jsonMembers, jsonObject } from '../../text/json-members.ts'

const strings = /"(?:[^"\\]|\\.)*"/g
// More digits than a double can represent, or an exponent.
const inexact = /[\d.]{16}|\d[eE]/

/** The claims with `role` as JSON text, if parsing and printing `payload` could lose digits; otherwise undefined. */
export function exactClaims(payload: string, role: string): string | undefined {
  if (!inexact.test(payload.replaceAll(strings, ''))) return undefined
  const members = jsonMembers(payload).set('role', JSON.stringify(role))
  return jsonObject(new Map(Array.from(members).sort(([one], [other]) => (one < other ? -1 : 1))))
}
