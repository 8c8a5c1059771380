// The client of a page: `@supabase/supabase-js`, unmodified, and what the page's browser does.
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import { newAddress, password } from './auth.ts'
import type { MailSink } from './mail-sink.ts'

export type FlowType = 'pkce' | 'implicit'

/** A client with an empty storage. */
export function pageClient(url: string, key: string, flowType: FlowType = 'implicit') {
  const stored = new Map<string, string>()
  return createClient(url, key, {
    // Node 20 has no WebSocket, and the tests need none.
    realtime: { transport: class {} as never },
    auth: {
      autoRefreshToken: false,
      detectSessionInUrl: false,
      flowType,
      storage: {
        getItem: (name: string) => stored.get(name) ?? null,
        setItem: (name: string, value: string) => void stored.set(name, value),
        removeItem: (name: string) => void stored.delete(name),
      },
    },
  })
}

/** Signs up on a page with a new address, confirms it, and returns it. */
export async function signUpByMail({ auth }: SupabaseClient, sink: Pick<MailSink, 'next'>): Promise<string> {
  const email = newAddress()
  await auth.signUp({ email, password })
  const { code } = await sink.next(email)
  const { error } = await auth.verifyOtp({ type: 'email', email, token: code })
  if (error) throw error
  return email
}

type Result = { readonly data: unknown; readonly error: unknown }

/** The data of a result without an error. */
export function dataOf<Either extends Result>({
  data,
  error,
}: Either): NonNullable<Extract<Either, { error: null }>['data']> {
  if (error !== null || data === null || data === undefined) throw new Error(String(error))
  return data
}

/** Opens a link of a mail as a browser does, and returns where it leads. */
export async function follow(link: string): Promise<URL> {
  const response = await fetch(link, { redirect: 'manual' })
  await response.arrayBuffer()
  return new URL(response.headers.get('location') ?? 'about:blank')
}

/** The parameters behind the `#` of a URL. */
export const fragmentOf = ({ hash }: URL): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(hash.slice(1)))
