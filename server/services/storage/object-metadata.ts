// The column `metadata` of an object, which the server writes. Rows of other origin may have anything in it.
import type { CheckedFile } from './bucket-rule.ts'
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
export const readMetadata = (text: string | null): ObjectMetadata =>
  metadataOf(text === null ? {} : ((JSON.parse(text) as MetadataColumn | null) ?? {}))

/** A value of the column. */
export type MetadataColumn = Readonly<Record<string, unknown>>

/** What a value of the column says. */
export function metadataOf(column: MetadataColumn): ObjectMetadata {
  const { eTag, size, mimetype, cacheControl, lastModified, xRobotsTag } = column
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

/** Media type of an object whose row has none. */
const unknownType = 'application/octet-stream'

/** What the rule of a bucket looks at. */
export const checkedFile = ({ size, mimetype }: Pick<ObjectMetadata, 'size' | 'mimetype'>): CheckedFile => ({
  size: size ?? 0,
  type: mimetype ?? unknownType,
})

/** Characters of a header: clients refuse responses with long ones. */
const longestHeader = 2000

/** Text that can be the value of a header. */
const headerText = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= longestHeader && /^[\t\x20-\x7e\x80-\xff]+$/.test(value)
    ? value
    : undefined
