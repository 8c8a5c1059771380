// Sends all calls again that were put aside and fulfil the conditions.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ResendReport, ResendRequest } from '../../../services/console/webhook-protocol.ts'
import { consoleApi } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Button, Dialog, Problem } from '../../parts.tsx'
import type { CallFilter } from './call-filters.tsx'

type ResendProps = { readonly filter: CallFilter; readonly onChange: () => void; readonly onClose: () => void }

export function Resend({ filter: { webhook, text }, onChange, onClose }: ResendProps) {
  const [sent, setSent] = useState<number>()
  const [isDone, setDone] = useState(false)
  const { error, isBusy, run } = useAction()
  const isClosed = useRef(false)
  useEffect(
    () => () => {
      isClosed.current = true
    },
    [],
  )
  /** In several requests, which end when the dialog is closed. */
  const sendAll = async (): Promise<void> => {
    let count = sent ?? 0
    let last: string | null = null
    do {
      const body: ResendRequest = {
        ...(webhook === undefined ? {} : { webhook }),
        ...(text === undefined ? {} : { text }),
        ...(last === null ? {} : { after: last }),
      }
      const report: ResendReport = await consoleApi<ResendReport>('webhooks/resend', { method: 'POST', body })
      count += report.sent
      last = report.last
      setSent(count)
    } while (last !== null && !isClosed.current)
    setDone(true)
  }
  // Some may have been sent before an error.
  const send = (): Promise<void> => sendAll().finally(onChange)
  return (
    <Dialog title="Send again" onClose={onClose}>
      <p>
        All calls that were put aside
        {webhook !== undefined && (
          <>
            {' '}
            of the webhook <code>{webhook}</code>
          </>
        )}
        {text !== undefined && (
          <>
            {' '}
            with <code>{text}</code> in their URL
          </>
        )}{' '}
        are sent again, with the ids they had.
      </p>
      {sent !== undefined && (
        <p role="status">
          {sent} {sent === 1 ? 'call is' : 'calls are'} sent again{isDone ? '.' : ' so far.'}
        </p>
      )}
      <Problem error={error} />
      <div class="actions">
        <Button onClick={onClose}>{isDone ? 'Close' : 'Cancel'}</Button>
        {!isDone && (
          <Button kind="primary" isBusy={isBusy} onClick={() => run(send)}>
            Send again
          </Button>
        )}
      </div>
    </Dialog>
  )
}
