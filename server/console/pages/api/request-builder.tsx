// A request that can be changed, copied for each client, and sent as the viewer.
import { useEffect, useState } from 'preact/hooks'
import { ApiProblem, serverUrl } from '../../api.ts'
import { Badge, Button, Field, Problem, Snippet, Tabs } from '../../parts.tsx'
import { prettyJson } from '../../rest/cells.ts'
import { queryText, type Parameter } from '../../rest/filter.ts'
import { profile, restPathOf, sendAs, type Place, type Sent } from '../../rest/relation.ts'
import { curlOf, fetchOf, supabaseCall, supabaseRead, supabaseWrite } from '../../rest/snippets.ts'
import { useViewer, viewerLabel } from '../../viewer.tsx'
import type { Example } from './examples.ts'

type Props = {
  readonly place: Place
  /** Whether it is a function. */
  readonly isCall: boolean
  readonly example: Example
}

const clients = [
  { key: 'supabase-js', label: 'supabase-js' },
  { key: 'curl', label: 'curl' },
  { key: 'fetch', label: 'fetch' },
] as const

type Client = (typeof clients)[number]['key']

/** The parameters of a query string. */
const parametersOf = (query: string): readonly Parameter[] => [...new URLSearchParams(query.replaceAll('+', '%2B'))]

function sentOf({ place, isCall }: Props, method: Example['method'], query: string, body: string | undefined): Sent {
  const path = restPathOf(place.restPath, `${isCall ? 'rpc/' : ''}${encodeURIComponent(place.name)}`)
  const isWrite = method !== 'GET'
  return {
    method,
    path: `${path}${query === '' ? '' : `?${query}`}`,
    headers: [
      ...profile(place, isWrite),
      ...(isWrite && !isCall ? [['Prefer', 'return=representation'] as const] : []),
    ],
    ...(body === undefined ? {} : { body }),
  }
}

function snippetOf(client: Client, { place, isCall }: Props, sent: Sent, parameters: readonly Parameter[]): string {
  if (client === 'curl') return curlOf(serverUrl, sent)
  if (client === 'fetch') return fetchOf(serverUrl, sent)
  if (isCall) return supabaseCall(place, sent.body ?? '{}')
  if (sent.method === 'POST' || sent.method === 'PATCH' || sent.method === 'DELETE') {
    return supabaseWrite(place, sent.method, parameters, sent.body)
  }
  return supabaseRead(place, parameters)
}

export function RequestBuilder(props: Props) {
  const { example, isCall } = props
  const { viewer } = useViewer()
  const [query, setQuery] = useState(queryText(example.parameters))
  const [body, setBody] = useState(example.body)
  const [client, setClient] = useState<Client>('supabase-js')
  const [reply, setReply] = useState<Reply>()
  const [isBusy, setBusy] = useState(false)
  const key = JSON.stringify(example)
  useEffect(() => {
    setQuery(queryText(example.parameters))
    setBody(example.body)
    setReply(undefined)
  }, [key])
  const sent = sentOf(props, example.method, query, body)
  const send = (): void => {
    setBusy(true)
    const start = performance.now()
    sendAs(viewer, sent)
      .then(async (response) => replyOf(response, await response.text(), performance.now() - start))
      .then(setReply, (error: unknown) => setReply({ error }))
      .finally(() => setBusy(false))
  }
  return (
    <div class="builder">
      <Field label="Query">
        <input class="mono" spellcheck={false} value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
      </Field>
      {body !== undefined && (
        <Field label="Body">
          <textarea
            rows={Math.min(12, body.split('\n').length + 1)}
            spellcheck={false}
            value={body}
            onInput={({ currentTarget }) => setBody(currentTarget.value)}
          />
        </Field>
      )}
      <Tabs label="Client" tabs={clients} chosen={client} onChoose={setClient} />
      <Snippet text={snippetOf(client, props, sent, parametersOf(query))} />
      <div class="bar">
        <Button kind={example.method === 'GET' ? 'primary' : 'danger'} isBusy={isBusy} onClick={send}>
          {example.method === 'GET' || isCall
            ? `Send as ${viewerLabel(viewer)}`
            : `Send as ${viewerLabel(viewer)}: changes rows`}
        </Button>
      </div>
      {reply && <ReplyView reply={reply} />}
    </div>
  )
}

type Reply =
  | { readonly status: number; readonly time: number; readonly headers: readonly string[]; readonly text: string }
  | { readonly error: unknown }

/** Characters of a body that are shown. */
const maxShown = 50_000
const shownHeaders = ['content-type', 'content-range', 'etag', 'location', 'preference-applied', 'link']

function replyOf(response: Response, text: string, time: number): Reply {
  const isJson = (response.headers.get('content-type') ?? '').includes('json') && text !== ''
  return {
    status: response.status,
    time,
    headers: shownHeaders.flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [`${name}: ${value}`]
    }),
    text: text.length > maxShown ? `${text.slice(0, maxShown)}…` : isJson ? prettyJson(text) : text,
  }
}

function ReplyView({ reply }: { readonly reply: Reply }) {
  if ('error' in reply) {
    return (
      <>
        {reply.error instanceof ApiProblem && <Badge kind="bad">{reply.error.status}</Badge>}
        <Problem error={reply.error} />
      </>
    )
  }
  return (
    <div role="status" class="reply">
      <p>
        <Badge kind="good">{reply.status}</Badge> <small class="faint">{Math.round(reply.time)} ms</small>
      </p>
      <pre class="faint" tabIndex={0}>
        {reply.headers.join('\n')}
      </pre>
      {reply.text !== '' && (
        <pre tabIndex={0} class="reply-body">
          {reply.text}
        </pre>
      )}
    </div>
  )
}
