// `fetch` with the trace context of the request that causes it.
import { requestScope } from '../common/request-scope.ts'

export const tracedFetch: typeof fetch = async (input, init) => {
  const scope = requestScope.getStore()
  if (!scope) return fetch(input, init)
  const isRequest = typeof input !== 'string' && !(input instanceof URL)
  const method = init?.method ?? (isRequest ? input.method : 'GET')
  const outgoing = scope.outgoing(method, new URL(isRequest ? input.url : input))
  if (!outgoing) return fetch(input, init)
  const headers = new Headers(init?.headers ?? (isRequest ? input.headers : undefined))
  for (const [name, text] of Object.entries(outgoing.headers)) headers.set(name, text)
  try {
    const response = await fetch(input, { ...init, headers })
    outgoing.end(response.status)
    return response
  } catch (error) {
    outgoing.end(undefined)
    throw error
  }
}
