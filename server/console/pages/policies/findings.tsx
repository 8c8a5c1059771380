// What `rowhouse check` finds, and the statements that mend it.
import { useState } from 'preact/hooks'
import type { CheckFinding, CheckReport, FixReport } from '../../../services/console/policy-protocol.ts'
import { consoleApi } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Badge, Button, Dialog, Empty, Problem, Snippet } from '../../parts.tsx'
import { href } from '../../router.ts'
import { useSession } from '../../session.tsx'

type FindingsProps = { readonly report: CheckReport; readonly onChange: () => void }

const levelBadges = { ERROR: 'bad', WARN: 'warning', INFO: 'plain' } as const

/** Number of findings that are drawn at first, and with each step. */
const firstFindings = 100

export function Findings({ report: { findings, ignored, unseen }, onChange }: FindingsProps) {
  const { isDevelopment } = useSession()
  const [category, setCategory] = useState<CheckFinding['category']>()
  const [limit, setLimit] = useState(firstFindings)
  const [fixing, setFixing] = useState<readonly string[]>()
  const shown = findings.filter((it) => category === undefined || it.category === category)
  const mendable = shown.filter(({ fix }) => fix !== null)
  return (
    <>
      {findings.length === 0 ? (
        <Empty title="Nothing is wrong">
          <p>No lint finds anything in the exposed schemas. Policy tests say whether policies do what you want.</p>
          <a class="button" href={href(['policies', 'tests'])}>
            Policy tests
          </a>
        </Empty>
      ) : (
        <div class="bar">
          <div class="tabs" role="group" aria-label="Category">
            {([undefined, 'SECURITY', 'PERFORMANCE'] as const).map((it) => (
              <button type="button" key={it ?? 'all'} aria-pressed={it === category} onClick={() => setCategory(it)}>
                {it === undefined ? 'All' : it === 'SECURITY' ? 'Security' : 'Performance'}
              </button>
            ))}
          </div>
          <span class="spring" />
          {isDevelopment && mendable.length > 0 && (
            <Button kind="primary" onClick={() => setFixing(mendable.map(({ key }) => key))}>
              Mend {mendable.length} by a migration
            </Button>
          )}
          <Button onClick={onChange}>Check again</Button>
        </div>
      )}
      {shown.slice(0, limit).map((finding) => (
        <Finding
          key={finding.key}
          finding={finding}
          {...(isDevelopment ? { onFix: () => setFixing([finding.key]) } : {})}
        />
      ))}
      {shown.length > limit && (
        <Button onClick={() => setLimit(limit + firstFindings)}>Show more of {shown.length}</Button>
      )}
      {ignored > 0 && (
        <p class="faint small">
          {ignored} {ignored === 1 ? 'finding is' : 'findings are'} accepted in <code>.rowhouse/check.json</code>.
        </p>
      )}
      {unseen.map((text) => (
        <p key={text} class="faint small">
          {text}
        </p>
      ))}
      {fixing && <FixDialog keys={fixing} onClose={() => setFixing(undefined)} />}
    </>
  )
}

function Finding({ finding, onFix }: { readonly finding: CheckFinding; readonly onFix?: () => void }) {
  const { code, level, object, type, title, reason, fix, advice, url } = finding
  return (
    <article class="card finding">
      <h2>
        <Badge kind={levelBadges[level]}>{level.toLowerCase()}</Badge> {title}
      </h2>
      <p>
        <span class="faint">{type}</span> <code>{object}</code>
      </p>
      <p>{reason}</p>
      {fix !== null && <Snippet text={fix} />}
      {advice !== null && <p class="faint">{advice}</p>}
      <p class="bar small">
        {fix !== null && onFix && <Button onClick={onFix}>Write migration</Button>}
        {fix !== null && <a href={href(['sql'], { sql: fix })}>Try it in SQL</a>}
        {url === null ? (
          <code class="faint">{code}</code>
        ) : (
          <a href={url} target="_blank" rel="noreferrer">
            {code}
          </a>
        )}
      </p>
    </article>
  )
}

type FixDialogProps = { readonly keys: readonly string[]; readonly onClose: () => void }

/** Tries the statements, and says what was written and what was not. */
function FixDialog({ keys, onClose }: FixDialogProps) {
  const [report, setReport] = useState<FixReport>()
  const { error, isBusy, run } = useAction()
  const write = (yes: boolean): void =>
    run(() =>
      consoleApi<FixReport>('check/fixes', { method: 'POST', body: { keys, ...(yes ? { yes } : {}) } }).then(setReport),
    )
  const unconfirmed = report?.fixes.filter(({ outcome }) => outcome === 'unconfirmed') ?? []
  return (
    <Dialog title="Mend by a migration" onClose={onClose} isWide>
      <p>
        The statements are tried in a transaction that is rolled back, and what every role may do is compared before and
        after. If there are policy tests, they run with and without the statements.
      </p>
      <Problem error={error} />
      {report && <FixResult report={report} />}
      <div class="actions">
        <Button onClick={onClose}>Close</Button>
        {unconfirmed.length > 0 ? (
          <Button kind="danger" isBusy={isBusy} onClick={() => write(true)}>
            Write them, too
          </Button>
        ) : (
          !report && (
            <Button kind="primary" isBusy={isBusy} onClick={() => write(false)}>
              Try and write
            </Button>
          )
        )}
      </div>
    </Dialog>
  )
}

const outcomes = {
  written: ['good', 'written'],
  unconfirmed: ['warning', 'changes what roles may do'],
  failed: ['bad', 'failed'],
} as const

const FixResult = ({ report: { written, fixes, tests } }: { readonly report: FixReport }) => (
  <div role="status">
    <p>
      {written === null ? (
        'No migration was written.'
      ) : (
        <>
          Wrote <code>{written}</code>. Read it, then apply it with <code>rowhouse migrate</code>.
        </>
      )}
    </p>
    <ul>
      {fixes.map(({ code, object, outcome, changes, error }, index) => (
        <li key={index}>
          <Badge kind={outcomes[outcome][0]}>{outcomes[outcome][1]}</Badge> <code>{code}</code> {object}
          {error !== null && <p class="small">{error}</p>}
          {changes.map((change, at) => (
            <p key={at} class="small">
              {change.role}: {change.command} on {change.object}: {change.before} → {change.after}
            </p>
          ))}
        </li>
      ))}
    </ul>
    {tests?.error && <p>The policy tests could not run with the statements: {tests.error}</p>}
    {tests && tests.different.length > 0 && (
      <p>These policy tests have other results with the statements: {tests.different.join('; ')}</p>
    )}
  </div>
)
