// One call: what is sent, and what came back.
import type { CallDetails, CutText } from '../../../services/console/webhook-protocol.ts'
import { consoleApi } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { HeaderList } from '../../header-list.tsx'
import { Button, Dialog, Loading, Problem, Snippet, useLoaded } from '../../parts.tsx'
import { bytesText, durationText, Time } from '../../values.tsx'
import { StateBadge } from './state-badge.tsx'

type CallDialogProps = { readonly id: string; readonly onChange: () => void; readonly onClose: () => void }

export function CallDialog({ id, onChange, onClose }: CallDialogProps) {
  const { value, error, reload } = useLoaded(
    (signal) => consoleApi<CallDetails>(`webhooks/calls/${id}`, { signal }),
    [id],
  )
  const sending = useAction()
  return (
    <Dialog title="Call" onClose={onClose} isWide>
      <Problem error={error} />
      {value ? <Call call={value} /> : error === undefined && <Loading />}
      <Problem error={sending.error} />
      {value?.state === 'dead' && (
        <div class="actions">
          <Button
            kind="primary"
            isBusy={sending.isBusy}
            onClick={() =>
              sending.run(async () => {
                await consoleApi(`webhooks/calls/${id}/send`, { method: 'POST' })
                reload()
                onChange()
              })
            }
          >
            Send again
          </Button>
        </div>
      )}
    </Dialog>
  )
}

const Call = ({ call }: { readonly call: CallDetails }) => (
  <>
    <Snippet text={`${call.method} ${call.url}`} />
    <p>
      <StateBadge state={call.state} /> {attemptsText(call)}
      {call.state === 'waiting' && call.isBehind && ', behind another call with its key'}
      {call.state === 'waiting' && !call.isBehind && (
        <>
          , next <Time at={call.nextAt} />
        </>
      )}
    </p>
    {call.error !== null && <p class="problem">{call.error}</p>}
    <dl class="call-facts">
      <Fact name="Id">
        <code>msg_{call.id}</code>
      </Fact>
      <Fact name="Webhook">{call.webhook ?? 'none: the schema net'}</Fact>
      <Fact name="Caused">
        <Time at={call.createdAt} /> by {call.createdBy}
      </Fact>
      {call.firstAttemptAt !== null && (
        <Fact name="First sent">
          <Time at={call.firstAttemptAt} />
        </Fact>
      )}
      {call.finishedAt !== null && (
        <Fact name={call.state === 'dead' ? 'Put aside' : 'Finished'}>
          <Time at={call.finishedAt} />
        </Fact>
      )}
      <Fact name="Signed with">{call.secret ?? 'nothing'}</Fact>
      {call.key !== null && <Fact name="In order of">{call.key}</Fact>}
      {call.depth > 1 && <Fact name="Caused by calls">{call.depth - 1}</Fact>}
      <Fact name="Time limit">{durationText(call.timeout)}</Fact>
    </dl>
    <h3>Request</h3>
    <HeaderList headers={call.headers} />
    {call.body ? <Body body={call.body} /> : <p class="faint">It has no body.</p>}
    <h3>Response</h3>
    {call.status === null ? (
      <p class="faint">There is no response.</p>
    ) : (
      <>
        <p>
          Status {call.status}
          {call.duration !== null && ` after ${durationText(call.duration)}`}
        </p>
        {call.responseHeaders && <HeaderList headers={call.responseHeaders} />}
        {call.response && <Body body={call.response} />}
      </>
    )}
  </>
)

function attemptsText({ attempts, retries }: CallDetails): string {
  if (attempts === 0) return 'not sent yet'
  return `${attempts === 1 ? 'sent once' : `sent ${attempts} times`}${retries ? '' : ', is not repeated after errors'}`
}

const Fact = ({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

const Body = ({ body: { text, bytes, isCut } }: { readonly body: CutText }) => (
  <div class="call-body">
    <Snippet text={readable(text)} />
    {isCut && <p class="small faint">This is its beginning: it has {bytesText(bytes)}.</p>}
  </div>
)

/** JSON with line breaks; other texts, and JSON with numbers that would be rounded, as they are. */
function readable(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    return packed(JSON.stringify(value)) === packed(text) ? JSON.stringify(value, null, 2) : text
  } catch {
    return text
  }
}

const packed = (text: string): string => text.replace(/\s/g, '')
