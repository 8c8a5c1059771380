// Headers of responses with the bytes of an object. Browsers must never execute an upload as a page of this origin.
import type { IncomingHttpHeaders } from 'node:http'
import type { ObjectMetadata } from './object-metadata.ts'

export type HeaderOptions = {
  /** The query parameter `download`: the name to save the file by, or empty; null without it. */
  readonly download?: string | null
  /** Replaces `Cache-Control`, for signed URLs. */
  readonly expires?: Date
}

/**
 * Media types that browsers show without executing anything of them. After a comma, browsers read another type, which
 * replaces the first. https://fetch.spec.whatwg.org/#concept-header-extract-mime-type
 */
const harmless =
  /^(?:image\/(?!svg\b)[\w.+-]+|audio\/[\w.+-]+|video\/[\w.+-]+|font\/[\w.+-]+|text\/(?:plain|csv|css)|application\/(?:json|pdf|octet-stream|zip|gzip|wasm))\s*(?:;[^,]*)?$/i

/** Media types of pages, which are saved rather than shown. A page's own images are shown whatever their headers say. */
const page = /html|svg|xml/i

/** If an upload is shown nevertheless, no script of it runs, and it has an origin of its own. */
const sandbox = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:"

/** The headers that describe the object and say how to handle it. */
export function objectHeaders(
  { mimetype, eTag, lastModified, cacheControl, xRobotsTag }: ObjectMetadata,
  request: IncomingHttpHeaders,
  { download = null, expires }: HeaderOptions,
): Record<string, string> {
  const type = mimetype ?? 'application/octet-stream'
  return {
    'Accept-Ranges': 'bytes',
    // As in the original, pages are shown as text.
    'Content-Type': type.toLowerCase().includes('text/html') ? 'text/plain; charset=utf-8' : type,
    'X-Content-Type-Options': 'nosniff',
    ...(harmless.test(type) ? {} : { 'Content-Security-Policy': sandbox }),
    'X-Robots-Tag': xRobotsTag ?? 'none',
    ...(eTag === undefined ? {} : { ETag: eTag }),
    ...(lastModified === undefined ? {} : { 'Last-Modified': lastModified.toUTCString() }),
    ...(expires ? { Expires: expires.toUTCString() } : cachingHeader(cacheControl, eTag, request)),
    ...(download !== null
      ? { 'Content-Disposition': disposition(download) }
      : page.test(type)
        ? { 'Content-Disposition': 'attachment' }
        : {}),
  }
}

/** The headers of a description of the object: those of its bytes that say how old they are. */
export const descriptionHeaders = ({ eTag, lastModified, cacheControl }: ObjectMetadata): Record<string, string> => ({
  ...(eTag === undefined ? {} : { ETag: eTag }),
  ...(lastModified === undefined ? {} : { 'Last-Modified': lastModified.toUTCString() }),
  ...(cacheControl === undefined ? {} : { 'Cache-Control': cacheControl }),
})

function cachingHeader(
  cacheControl: string | undefined,
  eTag: string | undefined,
  { 'if-none-match': known }: IncomingHttpHeaders,
): Record<string, string> {
  const values = [
    ...(cacheControl === undefined ? [] : [cacheControl]),
    // Lets a cache in between answer while it fetches the changed object.
    ...(known === undefined || known === eTag ? [] : ['stale-while-revalidate=30']),
  ]
  return values.length === 0 ? {} : { 'Cache-Control': values.join(', ') }
}

function disposition(name: string): string {
  if (name === '') return 'attachment;'
  const encoded = encodeURIComponent(name)
  return `attachment; filename=${encoded}; filename*=UTF-8''${encoded.replaceAll(/['()*]/g, hexCode)}`
}

/** The characters that `encodeURIComponent` leaves and that must be encoded. https://www.rfc-editor.org/rfc/rfc8187#section-3.2.1 */
const hexCode = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/** Whether the client has the current bytes. https://www.rfc-editor.org/rfc/rfc9110#section-13.2.2 */
export function isNotModified(
  { eTag, lastModified }: ObjectMetadata,
  { 'if-none-match': known, 'if-modified-since': since }: IncomingHttpHeaders,
): boolean {
  if (known !== undefined) {
    const tags = known.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
    return tags.includes('*') || (eTag !== undefined && tags.includes(eTag))
  }
  if (since === undefined || lastModified === undefined) return false
  // The header has no milliseconds.
  return Math.floor(lastModified.getTime() / 1000) * 1000 <= Date.parse(since)
}

/** Whether a range applies: the part that the client has is of the current bytes. */
export function rangeApplies(
  { eTag, lastModified }: ObjectMetadata,
  { 'if-range': condition }: IncomingHttpHeaders,
): boolean {
  return condition === undefined || condition === eTag || condition === lastModified?.toUTCString()
}
