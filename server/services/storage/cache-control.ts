// The header `Cache-Control` of downloads, as the uploader has set it.
import { storageErrors } from './storage-error.ts'

/** Characters of a text that becomes a header of every download: clients refuse long ones. */
const longestHeader = 1000

const wholeNumber = /^-?\d+$/

/** What clients make of every text: `no-cache` becomes `max-age=no-cache`. */
const maxAge = /^max-age=(?!-?\d)/i

/**
 * The header for what a client has set: seconds, or directives as they are. Without any, caches must ask again.
 *
 * @param given seconds, directives, or directives after the `max-age=` that Supabase's clients put before every text
 * @throws StorageError 400 for a long text
 */
export function cacheControlOf(given: string | null | undefined): string {
  const text = (given ?? '').trim().replace(maxAge, '')
  requireCacheControl(text)
  if (text === '') return 'no-cache'
  return wholeNumber.test(text) ? `max-age=${text}` : text
}

/** @throws StorageError 400 for a long text */
function requireCacheControl(text: string): void {
  if (text.length > longestHeader)
    throw storageErrors.validation('cacheControl must NOT have more than 1000 characters')
}
