// What `rowhouse doctor` finds, with its cures.
import { useState } from 'preact/hooks'
import type { DoctorFinding, DoctorReport } from '../../../services/console/operation-protocol.ts'
import { consoleApi } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Badge, Button, Empty, Loading, Problem, Snippet } from '../../parts.tsx'

const kinds = { ERROR: 'bad', WARN: 'warning', INFO: 'plain' } as const
const words = { ERROR: 'error', WARN: 'warning', INFO: 'note' } as const

export function Doctor() {
  const [report, setReport] = useState<DoctorReport>()
  const { error, isBusy, run } = useAction()
  const examine = (): void =>
    run(async () => setReport(await consoleApi<DoctorReport>('operations/doctor', { method: 'POST' })))
  return (
    <>
      {report && (
        <div class="bar">
          <Button isBusy={isBusy} onClick={examine}>
            Examine again
          </Button>
        </div>
      )}
      <Problem error={error} />
      {isBusy && <Loading text="Looking at settings, versions, clocks, connections, policies, storage …" />}
      {!report && !isBusy && (
        <Empty title="Is everything as it should be?">
          <p>
            The doctor looks at settings, versions, TLS, poolers, connections, slow policies and bloat, as{' '}
            <code>rowhouse doctor</code> does. It changes nothing.
          </p>
          <Button kind="primary" onClick={examine}>
            Examine
          </Button>
        </Empty>
      )}
      {report && <Report report={report} />}
    </>
  )
}

const Report = ({ report: { findings, healthy, skipped } }: { readonly report: DoctorReport }) => (
  <>
    <p>
      <Badge kind="good">nothing to do</Badge> {healthy.join(', ')}
    </p>
    {findings.map((finding, index) => (
      <Finding key={index} finding={finding} />
    ))}
    {skipped.map(({ area, reason }) => (
      <p key={reason} class="small faint">
        Not looked at ({area}): {reason}.
      </p>
    ))}
  </>
)

const Finding = ({
  finding: { level, area, code, subject, what, why, advice, fix },
}: {
  readonly finding: DoctorFinding
}) => (
  <section class="card">
    <h2>
      <Badge kind={kinds[level]}>{words[level]}</Badge> {subject}
    </h2>
    <p>
      {what} {why}
    </p>
    <p>{advice}</p>
    {fix !== null && <Snippet text={fix} />}
    <small class="faint">
      {area}: <code>{code}</code>
    </small>
  </section>
)
