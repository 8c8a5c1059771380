// A small app that renders pages on the server, as the guides of `@supabase/ssr` have it: the session is in cookies of the app.
import type { SupabaseClient } from '@supabase/supabase-js'
import express, { type Request, type Response } from 'express'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export type CookieToSet = { readonly name: string; readonly value: string; readonly options: object }

/** What the app uses of `@supabase/ssr`. */
export type SsrModule = {
  readonly createServerClient: (
    url: string,
    key: string,
    options: {
      cookies: {
        getAll: () => readonly { readonly name: string; readonly value: string }[]
        setAll: (cookies: readonly CookieToSet[], headers?: Readonly<Record<string, string>>) => void
      }
    },
  ) => SupabaseClient
  readonly parseCookieHeader: (header: string) => readonly { readonly name: string; readonly value: string }[]
  readonly serializeCookieHeader: (name: string, value: string, options: object) => string
}

type Fields = Readonly<Record<'email' | 'password' | 'task' | 'about', string>>

/** Starts the app for the duration of a test. @returns its address */
export async function startRenderedApp(
  t: Pick<Test, 'teardown'>,
  ssr: SsrModule,
  { url, publishableKey }: { readonly url: string; readonly publishableKey: string },
): Promise<string> {
  const createClient = (request: Request, response: Response): SupabaseClient =>
    ssr.createServerClient(url, publishableKey, {
      cookies: {
        getAll: () => ssr.parseCookieHeader(request.headers.cookie ?? ''),
        setAll: (cookies, headers = {}) => {
          for (const { name, value, options } of cookies) {
            response.append('Set-Cookie', ssr.serializeCookieHeader(name, value, options))
          }
          response.set(headers)
        },
      },
    })
  // Before each page, a session that expires soon is refreshed.
  const clients = new WeakMap<Request, SupabaseClient>()
  const clientOf = (request: Request): SupabaseClient => {
    const client = clients.get(request)
    if (client === undefined) throw new Error('The request has no client')
    return client
  }
  const originOf = (request: Request): string => `http://${request.headers.host ?? ''}`
  const app = express()
  app.use(express.urlencoded({ extended: false }))

  app.use(async (request, response, next) => {
    const client = createClient(request, response)
    clients.set(request, client)
    await client.auth.getUser()
    next()
  })

  app.get('/', async (request, response) => {
    const client = clientOf(request)
    const { data } = await client.auth.getUser()
    const { data: todos } = await client
      .from('todos')
      .select('task')
      .order('position')
      .overrideTypes<{ task: string }[]>()
    const name = data.user?.email ?? 'visitor'
    response.send(`<h1>Hello ${name}</h1>${(todos ?? []).map(({ task }) => `<li>${task}</li>`).join('')}`)
  })
  // Without a request to the server: the signature is verified by its published keys.
  app.get('/claims', async (request, response) => {
    const { data } = await clientOf(request).auth.getClaims()
    response.json(data?.claims ?? null)
  })
  app.post('/sign-up', async (request, response) => {
    const { email, password, about } = request.body as Fields
    const { error } = await clientOf(request).auth.signUp({ email, password, options: { data: { about } } })
    response
      .status(error?.status ?? 303)
      .set('Location', '/')
      .send(error?.code)
  })
  app.post('/sign-in', async (request, response) => {
    const { email, password } = request.body as Fields
    const { error } = await clientOf(request).auth.signInWithPassword({ email, password })
    response
      .status(error?.status ?? 303)
      .set('Location', '/')
      .send(error?.code)
  })
  app.post('/link', async (request, response) => {
    const { email } = request.body as Fields
    const { error } = await clientOf(request).auth.signInWithOtp({
      email,
      options: { emailRedirectTo: `${originOf(request)}/callback` },
    })
    response.status(error?.status ?? 200).send(error?.code ?? 'Look into your mails')
  })
  app.get('/callback', async (request, response) => {
    const { error } = await clientOf(request).auth.exchangeCodeForSession(request.query.code as string)
    response
      .status(error?.status ?? 303)
      .set('Location', '/')
      .send(error?.code)
  })
  app.post('/todos', async (request, response) => {
    const { task } = request.body as Fields
    const { error, status } = await clientOf(request).from('todos').insert({ task })
    response
      .status(error === null ? 303 : status)
      .set('Location', '/')
      .send(error?.code)
  })
  app.post('/sign-out', async (request, response) => {
    const { error } = await clientOf(request).auth.signOut()
    response
      .status(error?.status ?? 303)
      .set('Location', '/')
      .send(error?.code)
  })

  const listening = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => listening.once('listening', resolve))
  t.teardown(() => new Promise((resolve) => listening.close(resolve)))
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

export type Page = { readonly status: number; readonly text: string; readonly location: string | null }

/** A browser with cookies, which follows no redirect. */
export class Browser {
  readonly cookies = new Map<string, string>()

  constructor(private readonly app: string) {}

  /** Another browser with the same cookies. */
  copy(): Browser {
    const other = new Browser(this.app)
    for (const [name, value] of this.cookies) other.cookies.set(name, value)
    return other
  }

  readonly get = (path: string): Promise<Page> => this.request(path, {})

  readonly post = (path: string, fields: Readonly<Record<string, string>> = {}): Promise<Page> =>
    this.request(path, { method: 'POST', body: new URLSearchParams(fields) })

  private async request(path: string, init: RequestInit): Promise<Page> {
    const cookie = Array.from(this.cookies, ([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(new URL(path, this.app), { ...init, redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/; *max-age=0/i.test(line)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return { status: response.status, text: await response.text(), location: response.headers.get('location') }
  }
}
