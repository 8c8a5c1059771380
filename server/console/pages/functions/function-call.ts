// Calls a function as the viewer, and reads the beginning of its response as it arrives.
import { noteChange, serverUrl, viewerToken, type Viewer } from '../../api.ts'

export type CallWish = {
  readonly method: string
  /** Below the function: `items/5?limit=3`. */
  readonly path: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Empty for none. */
  readonly body: string
}

export type CallResponse = {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly text: string
  readonly bytes: number
  /** Whether it is longer than what is shown. */
  readonly isCut: boolean
  readonly isOver: boolean
  readonly milliseconds: number
}

/** Bytes of a response that are shown. The rest is not read. */
const most = 256 * 1024

/**
 * @param onResponse called with the head of the response, and whenever more of it arrives
 * @throws ApiProblem when there is no token for the viewer; Error when the path leads elsewhere, there is no response, or the
 *   signal is aborted
 */
export async function callFunction(
  name: string,
  { method, path, headers: given, body }: CallWish,
  viewer: Viewer,
  signal: AbortSignal,
  onResponse: (response: CallResponse) => void,
): Promise<void> {
  const target = `functions/v1/${encodeURIComponent(name)}${path === '' ? '' : /^[/?]/.test(path) ? path : `/${path}`}`
  const url = new URL(target, serverUrl)
  // Dots in the path lead out of the function, and the log of changes would name another address than the one that is called.
  if (!url.pathname.startsWith(new URL(`functions/v1/${encodeURIComponent(name)}`, serverUrl).pathname)) {
    throw new Error('The path leads out of the function')
  }
  await noteChange(viewer, method, target)
  const headers = new Headers()
  for (const [header, value] of given) headers.append(header, value)
  if (!headers.has('Authorization')) headers.set('Authorization', `Bearer ${await viewerToken(viewer)}`)
  if (body !== '' && !headers.has('Content-Type')) headers.set('Content-Type', typeOf(body))
  const since = performance.now()
  const response = await fetch(url, {
    method,
    headers,
    ...(body === '' ? {} : { body }),
    signal,
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'manual',
  })
  if (response.type === 'opaqueredirect') throw new Error('The function redirects to another address')
  const head = { status: response.status, statusText: response.statusText, headers: [...response.headers] }
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  let isCut = false
  const tell = (isOver: boolean): void =>
    onResponse({ ...head, text, bytes, isCut, isOver, milliseconds: performance.now() - since })
  const reader = response.body?.getReader()
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    const rest = most - bytes
    text += decoder.decode(part.value.subarray(0, rest), { stream: true })
    bytes += Math.min(part.value.length, rest)
    isCut = part.value.length > rest
    if (isCut) {
      await reader?.cancel()
      break
    }
    tell(false)
  }
  tell(true)
}

function typeOf(body: string): string {
  try {
    JSON.parse(body)
    return 'application/json'
  } catch {
    return 'text/plain;charset=UTF-8'
  }
}
