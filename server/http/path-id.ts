// Ids in paths.
import { failures } from './envelope.ts'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** @throws Failure 400 when the text is not a UUID */
export function uuidIn(text: string): string {
  if (!uuid.test(text)) throw failures.invalid({ id: 'must be a UUID' })
  return text.toLowerCase()
}
