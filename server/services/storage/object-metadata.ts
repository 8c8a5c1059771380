// The column `metadata` of an object, which the server writes. Rows of other origin may have anything in it.
import type { StoredBytes } from './object-store.ts'

/** What is known of the bytes. */
export type ObjectMetadata = {
  /** MD5 in hex, in double quotes. */
  readonly eTag: string | undefined
  /** Bytes. */
  readonly size: number | undefined
  readonly mimetype: string | undefined
  readonly cacheControl: string | undefined
  readonly lastModified: Date | undefined
  readonly xRobotsTag: string | undefined
}

/** The JSON text of the column for new bytes. */
export const metadataText = (
  { eTag, size, lastModified }: StoredBytes,
  file: { readonly contentType: string; readonly cacheControl: string; readonly xRobotsTag?: string | undefined },
): string =>
  JSON.stringify({
    eTag,
    size,
    mimetype: file.contentType,
    cacheControl: file.cacheControl,
    lastModified: lastModified.toISOString(),
    contentLength: size,
    httpStatusCode: 200,
    ...(file.xRobotsTag === undefined ? {} : { xRobotsTag: file.xRobotsTag }),
  })

/** @param text the column; null as in rows that SQL has inserted */
export function readMetadata(text: string | null): ObjectMetadata {
  const value = text === null ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>> | null)
  const { eTag, size, mimetype, cacheControl, lastModified, xRobotsTag } = value ?? {}
  const time = typeof lastModified === 'string' ? new Date(lastModified) : undefined
  return {
    eTag: headerText(eTag),
    size: typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? size : undefined,
    mimetype: headerText(mimetype),
    cacheControl: headerText(cacheControl),
    lastModified: time && !Number.isNaN(time.getTime()) ? time : undefined,
    xRobotsTag: headerText(xRobotsTag),
  }
}

/** Characters of a header: clients refuse responses with long ones. */
const longestHeader = 2000

/** Text that can be the value of a header. */
const headerText = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= longestHeader && /^[\t\x20-\x7e\x80-\xff]+$/.test(value)
    ? value
    : undefined
