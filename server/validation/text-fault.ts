// Texts of bodies that PostgreSQL cannot store: JSON can contain them as escapes, in values and in names.
import { isStorable, notStorable } from '../text/storable-text.ts'
import { token, type Fault } from './fault.ts'

/** What is wrong with the first text of a JSON value that PostgreSQL cannot store; undefined if it can store all. */
export function textFault(value: unknown): Fault | undefined {
  const pointer = pointerOfText(value)
  return pointer === undefined ? undefined : { pointer, message: notStorable }
}

/** Bodies are not nested deeply: `readJson` refuses those that are. */
function pointerOfText(value: unknown): string | undefined {
  if (typeof value === 'string') return isStorable(value) ? undefined : ''
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) {
      const inner = pointerOfText(element)
      if (inner !== undefined) return `/${index}${inner}`
    }
    return undefined
  }
  for (const [name, member] of Object.entries(value)) {
    if (!isStorable(name)) return ''
    const inner = pointerOfText(member)
    if (inner !== undefined) return token(name) + inner
  }
  return undefined
}
