// What a function serves: a handler of the Fetch standard, or a server of `node:http`.
import type { Server } from 'node:http'
import { AddrInUse } from './deno-errors.ts'

/** The second argument of handlers. https://docs.deno.com/api/deno/~/Deno.ServeHandlerInfo */
export type ServeInfo = {
  readonly remoteAddr: { readonly transport: 'tcp'; readonly hostname: string; readonly port: number }
  /** Resolves when the response has been sent. */
  readonly completed: Promise<void>
}

export type FetchHandler = (request: Request, info: ServeInfo) => Response | Promise<Response>

export type Service =
  | {
      readonly kind: 'fetch'
      readonly handler: FetchHandler
      /** Responds to an error of the handler. */
      readonly onError?: ((error: unknown) => Response | Promise<Response>) | undefined
    }
  | { readonly kind: 'node'; readonly server: Server }

let current: Service | undefined
let onServed: () => void = () => undefined

/** What the function serves at the moment. */
export const currentService = (): Service | undefined => current

/** Resolves when the function serves. */
export const served = new Promise<void>((resolve) => (onServed = resolve))

/**
 * Serves the function's calls.
 *
 * @returns ends that
 * @throws AddrInUse if the function serves already
 */
export function serve(service: Service): () => void {
  if (current) throw new AddrInUse('The function serves already: call Deno.serve once')
  current = service
  onServed()
  return () => {
    if (current === service) current = undefined
  }
}
