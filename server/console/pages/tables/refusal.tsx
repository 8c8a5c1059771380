// Why a row is hidden or a write was refused.
import { useState } from 'preact/hooks'
import type { Viewer } from '../../api.ts'
import type { AskedRequest } from '../../explanation/asked-request.ts'
import { Explanation } from '../../explanation/explanation.tsx'
import { Button, Dialog, Problem } from '../../parts.tsx'
import type { Sent } from '../../rest/relation.ts'
import { useViewer } from '../../viewer.tsx'
import { WriteRefused } from './writes.ts'

/** The error of a write, with an explanation on request. */
export function Refusal({ error }: { readonly error: unknown }) {
  const { viewer } = useViewer()
  const [isExplained, setExplained] = useState(false)
  if (!(error instanceof WriteRefused)) return <Problem error={error} />
  return (
    <>
      <Problem error={error.problem ?? error} />
      <Button onClick={() => setExplained(true)}>Explain</Button>
      {isExplained && (
        <WhyDialog title="Why it was refused" sent={error.sent} viewer={viewer} onClose={() => setExplained(false)} />
      )}
    </>
  )
}

type WhyProps = {
  readonly title: string
  readonly sent: Sent
  readonly viewer: Viewer
  readonly onClose: () => void
}

/** Which policy decides, with which values, and a policy test of it. */
export const WhyDialog = ({ title, sent, viewer, onClose }: WhyProps) => (
  <Dialog title={title} isWide onClose={onClose}>
    <p>
      <code>
        {sent.method} /{sent.path}
      </code>
    </p>
    <Explanation request={askedOf(sent)} viewer={viewer} />
  </Dialog>
)

const askedOf = ({ method, path, headers, body }: Sent): AskedRequest => ({
  request: `${method} /${path}`,
  headers: [...headers, ...(body === undefined ? [] : [['Content-Type', 'application/json'] as const])].map(
    ([name, value]) => `${name}: ${value}`,
  ),
  ...(body === undefined ? {} : { body }),
})
