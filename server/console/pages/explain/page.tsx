// Explains a request of any caller: one that is pasted, or that another page has linked to.
import { useEffect, useState } from 'preact/hooks'
import type { Viewer } from '../../api.ts'
import { parseCurl } from '../../explanation/curl.ts'
import type { AskedRequest } from '../../explanation/asked-request.ts'
import { Explanation } from '../../explanation/explanation.tsx'
import { Button, Empty, Field } from '../../parts.tsx'
import { go, openingFragment, useRoute } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { useViewer, viewerLabel } from '../../viewer.tsx'

export default function ExplainPage() {
  const { query } = useRoute()
  const { viewer, choose } = useViewer()
  const { restPath } = useSession()
  const linked = viewerOf(query)
  const asked = askedOf(query)
  const [isConfirmed, setConfirmed] = useState(false)
  const isForeign = asked !== undefined && !isConfirmed && location.hash === openingFragment
  useEffect(() => {
    if (linked && !isForeign) choose(linked)
  }, [query.get('user'), query.get('role'), isForeign])
  return (
    <div class="explain">
      <h1>Explain a request</h1>
      <RequestForm key={query.toString()} asked={asked} onSubmit={() => setConfirmed(true)} />
      {isForeign ? (
        <Empty title="Explain this request?">
          <p>
            It comes from the link that opened the console. Explain runs it as{' '}
            <strong>{viewerLabel(linked ?? viewer)}</strong>, and undoes everything it does.
          </p>
        </Empty>
      ) : asked ? (
        <Explanation request={asked} viewer={viewer} />
      ) : (
        <Empty title="Why does a request return these rows?">
          <p>
            Write a method and a path, such as <code>GET {restPath === '/' ? '' : restPath}/profiles?select=*</code>, or
            paste a curl command. The request runs as <strong>{viewerLabel(viewer)}</strong>, and everything it does is
            undone. Choose another caller in the header.
          </p>
        </Empty>
      )}
    </div>
  )
}

/** The viewer that a link names. */
function viewerOf(query: URLSearchParams): Viewer | undefined {
  const user = query.get('user')
  if (user !== null) return { kind: 'user', id: user, label: query.get('label') ?? user }
  const role = query.get('role')
  return role === null ? undefined : { kind: 'role', role }
}

function askedOf(query: URLSearchParams): AskedRequest | undefined {
  const request = query.get('request')
  const body = query.get('body')
  if (request === null || request.trim() === '') return undefined
  return { request, headers: query.getAll('header'), ...(body === null ? {} : { body }) }
}

const hasBody = (request: string): boolean => /^\s*(?:POST|PATCH|PUT)\b/i.test(request)

type RequestFormProps = { readonly asked: AskedRequest | undefined; readonly onSubmit: () => void }

function RequestForm({ asked, onSubmit }: RequestFormProps) {
  const [request, setRequest] = useState(asked?.request ?? '')
  const [headers, setHeaders] = useState((asked?.headers ?? []).join('\n'))
  const [body, setBody] = useState(asked?.body ?? '')
  const change = (text: string): void => {
    const pasted = parseCurl(text)
    setRequest(pasted?.request ?? text)
    if (!pasted) return
    setHeaders(pasted.headers.join('\n'))
    setBody(pasted.body ?? '')
  }
  const submit = (): void => {
    const query = new URLSearchParams({ request: request.trim() })
    for (const header of headers.split('\n').filter((line) => line.trim() !== '')) query.append('header', header.trim())
    if (body !== '') query.set('body', body)
    onSubmit()
    go(['explain'], query)
  }
  return (
    <form
      class="request-form"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Field label="Request, or a curl command">
        <textarea
          rows={Math.min(6, Math.max(2, Math.ceil(request.length / 80)))}
          required
          spellcheck={false}
          value={request}
          onInput={({ currentTarget }) => change(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey) return
            event.preventDefault()
            submit()
          }}
        />
      </Field>
      {(hasBody(request) || body !== '') && (
        <Field label="Body">
          <textarea
            rows={3}
            spellcheck={false}
            value={body}
            onInput={({ currentTarget }) => setBody(currentTarget.value)}
          />
        </Field>
      )}
      <details open={headers !== ''}>
        <summary>Headers</summary>
        <Field label="One per line, such as Prefer: return=representation">
          <textarea
            rows={2}
            spellcheck={false}
            value={headers}
            onInput={({ currentTarget }) => setHeaders(currentTarget.value)}
          />
        </Field>
      </details>
      <div class="bar">
        <Button type="submit" kind="primary">
          Explain
        </Button>
      </div>
    </form>
  )
}
