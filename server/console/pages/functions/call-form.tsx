// Calls the function as the viewer.
import { useEffect, useRef, useState } from 'preact/hooks'
import { useAction } from '../../forms.tsx'
import { headersOf } from '../../header-lines.ts'
import { HeaderList } from '../../header-list.tsx'
import { Badge, Button, Field, Problem, Snippet, TextField } from '../../parts.tsx'
import { bytesText, durationText } from '../../values.tsx'
import { useViewer, viewerLabel } from '../../viewer.tsx'
import { callFunction, type CallResponse } from './function-call.ts'

const methods = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'] as const

export function CallForm({ name }: { readonly name: string }) {
  const { viewer } = useViewer()
  const [fields, setFields] = useState({ method: 'POST', path: '', headers: '', body: '{ "name": "Functions" }' })
  const [response, setResponse] = useState<CallResponse>()
  const { error, isBusy, run } = useAction()
  const ending = useRef<AbortController>(null)
  useEffect(() => () => ending.current?.abort(), [])
  const change = (changed: Partial<typeof fields>): void => setFields({ ...fields, ...changed })
  const send = async (): Promise<void> => {
    const controller = new AbortController()
    ending.current = controller
    setResponse(undefined)
    const { method, path, body } = fields
    const wish = { method, path: path.trim(), headers: headersOf(fields.headers), body: method === 'GET' ? '' : body }
    await callFunction(name, wish, viewer, controller.signal, setResponse).catch((reason: unknown) => {
      if (!controller.signal.aborted) throw reason
    })
  }
  return (
    <form
      class="card function-call"
      onSubmit={(event) => {
        event.preventDefault()
        run(send)
      }}
    >
      <h2>Call it</h2>
      <div class="fields">
        <Field label="Method">
          <select value={fields.method} onChange={({ currentTarget }) => change({ method: currentTarget.value })}>
            {methods.map((method) => (
              <option key={method}>{method}</option>
            ))}
          </select>
        </Field>
        <TextField
          label="Path and query"
          class="mono"
          placeholder="none"
          value={fields.path}
          onText={(path) => change({ path })}
        />
      </div>
      <Field label="Headers, one per line">
        <textarea
          rows={2}
          placeholder="Accept-Language: de"
          value={fields.headers}
          onInput={({ currentTarget }) => change({ headers: currentTarget.value })}
        />
      </Field>
      {fields.method !== 'GET' && (
        <Field label="Body">
          <textarea
            rows={4}
            value={fields.body}
            onInput={({ currentTarget }) => change({ body: currentTarget.value })}
          />
        </Field>
      )}
      <div class="actions">
        {isBusy && <Button onClick={() => ending.current?.abort()}>Stop</Button>}
        <Button type="submit" kind="primary" isBusy={isBusy}>
          Call as {viewerLabel(viewer)}
        </Button>
      </div>
      <Problem error={error} />
      {response && <Response response={response} />}
    </form>
  )
}

const Response = ({
  response: { status, statusText, headers, text, bytes, isCut, isOver, milliseconds },
}: {
  readonly response: CallResponse
}) => (
  <section class="function-response" aria-label="Response">
    <p role="status">
      <Badge kind={status < 400 ? 'good' : status < 500 ? 'warning' : 'bad'}>
        {status} {statusText}
      </Badge>{' '}
      {bytesText(bytes)} in {durationText(milliseconds)}
      {!isOver && ', and more to come …'}
    </p>
    <details>
      <summary>Headers</summary>
      <HeaderList headers={headers} />
    </details>
    {text === '' ? <p class="faint">The response has no body.</p> : <Snippet text={text} />}
    {isCut && <p class="small faint">This is its beginning: the rest was not read.</p>}
  </section>
)
