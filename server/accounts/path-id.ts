// Ids in paths.
import { Failure } from './envelope.ts'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** @throws Failure 400 when the text is no UUID */
export function uuidIn(text: string): string {
  if (!uuid.test(text)) {
    throw new Failure(400, 'The address is not valid', { errors: [{ field: 'id', message: 'must be a UUID' }] })
  }
  return text.toLowerCase()
}
