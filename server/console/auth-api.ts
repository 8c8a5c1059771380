// Requests to `/auth/v1`, as any client sends them.
import { problemOf, serverUrl } from './api.ts'

/**
 * Sends a request with a JSON body, or without one.
 *
 * @param path below `/auth/v1/`
 * @throws ApiProblem for any status that is not 2xx
 */
export async function askAuth<T>(path: string, body?: object, token?: string): Promise<T> {
  const response = await fetch(new URL(`auth/v1/${path}`, serverUrl), {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    credentials: 'omit',
    cache: 'no-store',
  })
  if (!response.ok) throw await problemOf(response)
  return (await response.json()) as T
}
