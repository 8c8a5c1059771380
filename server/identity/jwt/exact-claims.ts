// Claims as text with all digits of their numbers, which JavaScript's numbers cannot hold.
import { jsonMembers } from '../../text/json-members.ts'

const strings = /"(?:[^"\\]|\\.)*"/g
// More digits than a double holds, or an exponent.
const inexact = /[\d.]{16}|\d[eE]/

/** The claims with `role` as JSON text, if it would lose digits to parse and print `payload`; else undefined. */
export function exactClaims(payload: string, role: string): string | undefined {
  if (!inexact.test(payload.replaceAll(strings, ''))) return undefined
  const members = jsonMembers(payload).set('role', JSON.stringify(role))
  const inOrder = Array.from(members).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${inOrder.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
}
