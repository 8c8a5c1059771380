// The names of resumable uploads in their addresses: `bucket/name/uuid` in base64url.

/** Path of the routes. The path of an upload ends with its id. */
export const resumablePath = '/upload/resumable'

export type UploadId = { readonly bucket: string; readonly name: string; readonly id: string }

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

export const uploadIdText = ({ bucket, name, id }: UploadId): string => `${bucket}/${name}/${id}`

/** @returns undefined for anything but the decoded text of an id */
export function parseUploadId(text: string): UploadId | undefined {
  const [first, last] = [text.indexOf('/'), text.lastIndexOf('/')]
  if (first < 1 || last <= first + 1) return undefined
  const found = { bucket: text.slice(0, first), name: text.slice(first + 1, last), id: text.slice(last + 1) }
  return uuid.test(found.id) ? found : undefined
}

export const encodeUploadId = (text: string): string => Buffer.from(text).toString('base64url')

/** @param segment the last part of an address; undefined unless it is exactly what `encodeUploadId` returns */
export function decodeUploadId(segment: string): string | undefined {
  const text = Buffer.from(segment, 'base64url').toString()
  return encodeUploadId(text) === segment && parseUploadId(text) !== undefined ? text : undefined
}
