// Uploads images as clients do.
import { caller, type Answer } from './call.ts'

export const prefix = '/api/v1/water-hyacinth'

/** A form field: text, or a file with its type and name. */
export type Part = string | { readonly bytes: Uint8Array; readonly type?: string; readonly name?: string }

/** A multipart body. */
export function form(...parts: readonly (readonly [field: string, part: Part])[]): FormData {
  const data = new FormData()
  for (const [field, part] of parts) {
    if (typeof part === 'string') data.append(field, part)
    else
      data.append(
        field,
        new Blob([new Uint8Array(part.bytes)], { type: part.type ?? 'image/jpeg' }),
        part.name ?? 'a.jpg',
      )
  }
  return data
}

/** Sends a body to a path relative to the prefix. */
export async function upload(
  url: string,
  path: string,
  body: FormData | Uint8Array | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  if (!(body instanceof FormData)) return caller(url)('POST', `${prefix}${path}`, { body, headers })
  // FormData chooses the boundary.
  const request = new Request(url, { method: 'POST', body })
  const bytes = new Uint8Array(await request.arrayBuffer())
  const type = request.headers.get('content-type') ?? ''
  return caller(url)('POST', `${prefix}${path}`, { body: bytes, headers: { 'Content-Type': type, ...headers } })
}

/** Settings with generous timeouts, for slow machines. */
export const patient = { IMAGE_TIMEOUT: '300' }
