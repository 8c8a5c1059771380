// The mailbox of the development mode: what the server would have sent.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { jsonAs, serverUrl, serviceRole } from '../../api.ts'
import { Button, Copy, Empty, Loading, Problem, useLoaded } from '../../parts.tsx'
import { Time } from '../../values.tsx'

type Mail = {
  readonly id: string
  readonly to: string
  readonly subject: string
  readonly link: string | null
  readonly code: string | null
  readonly html: string
  readonly text: string
  readonly created_at: string
}

/** Milliseconds between looks into the mailbox while it is shown. */
const interval = 3000

const path = 'auth/v1/dev/mailbox'

export function Mailbox() {
  const { value, error, isLoading, reload } = useLoaded(
    (signal) => jsonAs<{ readonly messages: readonly Mail[] }>(serviceRole, path, { signal }),
    [],
  )
  const [openId, setOpen] = useState<string>()
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload()
    }, interval)
    return () => clearInterval(timer)
  }, [])
  const mails = value?.messages
  return (
    <>
      <div class="bar">
        <Button isBusy={isLoading && mails === undefined} onClick={reload}>
          Refresh
        </Button>
        <span class="faint small">
          There is no mail server (<code>GOTRUE_SMTP_HOST</code>): mails are kept here.{' '}
          <a href={`${serverUrl}${path}`}>Templates</a>
        </span>
      </div>
      <Problem error={error} />
      {mails === undefined && error === undefined && <Loading />}
      {mails?.length === 0 && (
        <Empty title="There are no mails yet">
          <p>Invite a user, or sign up in your app: what the server would send appears here within seconds.</p>
        </Empty>
      )}
      <ul class="mails">
        {mails?.map((mail) => (
          <li key={mail.id} class="card">
            <div class="bar">
              <strong>{mail.subject}</strong>
              <span class="faint">
                to {mail.to}, <Time at={mail.created_at} />
              </span>
              <span class="grow" />
              {mail.code !== null && <Copy text={mail.code} label={`Copy code ${mail.code}`} />}
              {mail.link !== null && <Copy text={mail.link} label="Copy link" />}
              <button
                type="button"
                class="button"
                aria-expanded={mail.id === openId}
                onClick={() => setOpen(mail.id === openId ? undefined : mail.id)}
              >
                {mail.id === openId ? 'Close' : 'Read'}
              </button>
            </div>
            {mail.id === openId && <Preview mail={mail} />}
          </li>
        ))}
      </ul>
    </>
  )
}

/**
 * The frame has an origin of its own and runs no scripts; its links open in a new tab. It inherits the content security policy
 * of the console, so that it loads nothing from other hosts.
 */
function Preview({ mail }: { readonly mail: Mail }) {
  const url = useMemo(() => {
    const head = '<!doctype html><meta charset="utf-8"><base target="_blank">'
    return URL.createObjectURL(new Blob([head, mail.html], { type: 'text/html' }))
  }, [mail.id])
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  return (
    <>
      <iframe
        title={`Mail to ${mail.to}`}
        sandbox="allow-popups allow-popups-to-escape-sandbox"
        referrerpolicy="no-referrer"
        src={url}
      />
      <details>
        <summary>Plain text</summary>
        <pre class="wrapped">{mail.text}</pre>
      </details>
    </>
  )
}
