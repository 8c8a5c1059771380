// Why a request returns these rows, or none: runs it as the viewer without effect, and shows what decided its result.
import { useState } from 'preact/hooks'
import type { ShownExplanation, ShownRelation } from '../../services/console/policy-protocol.ts'
import { countText } from '../values.tsx'
import { consoleApi, type Viewer } from '../api.ts'
import { Badge, Button, Loading, Problem, Snippet, useLoaded } from '../parts.tsx'
import { useSession } from '../session.tsx'
import { viewerLabel } from '../viewer.tsx'
import { callerOf, type AskedRequest } from './asked-request.ts'
import { Denial } from './denial.tsx'
import { milliseconds, PlanView } from './plan-view.tsx'
import { PolicyTestDialog } from './policy-test-dialog.tsx'

type ExplanationProps = { readonly request: AskedRequest; readonly viewer: Viewer }

/** Runs a request without effect, and says what decided its result. Asks again when one of both changes. */
export function Explanation({ request, viewer }: ExplanationProps) {
  const key = JSON.stringify([request, viewer])
  const [trusted, setTrusted] = useState<{ readonly key: string; readonly names: readonly string[] }>()
  const names = trusted?.key === key ? trusted.names : []
  const { value, error, isLoading } = useLoaded(
    (signal) =>
      consoleApi<ShownExplanation>('explain', {
        method: 'POST',
        body: { ...request, caller: callerOf(viewer), trusted: names },
        signal,
      }),
    [key, names.join(' ')],
  )
  return (
    <section class="explanation" aria-label="Explanation" aria-busy={isLoading}>
      <Problem error={error} />
      {isLoading && <Loading text="Explaining …" />}
      {value && error === undefined && (
        <Explained
          explanation={value}
          request={request}
          viewer={viewer}
          onTrust={(more) => setTrusted({ key, names: [...names, ...more] })}
        />
      )}
    </section>
  )
}

type ExplainedProps = ExplanationProps & {
  readonly explanation: ShownExplanation
  readonly onTrust: (names: readonly string[]) => void
}

function Explained({ explanation, request, viewer, onTrust }: ExplainedProps) {
  const { isDevelopment } = useSession()
  const [isTesting, setTesting] = useState(false)
  const { response, effects, denied, relations, statements, plan, cost, notes } = explanation
  return (
    <>
      <Summary explanation={explanation} viewer={viewer} />
      {effects.refused.length > 0 && <Refused effects={effects} onTrust={onTrust} />}
      {response && <Problem error={messageOf(response.error)} />}
      {denied && <Denial denied={denied} />}
      <div class="bar">
        {isDevelopment && response && (
          <Button kind="primary" onClick={() => setTesting(true)}>
            Make this a policy test
          </Button>
        )}
      </div>
      {relations.length > 0 && (
        <>
          <h2>What decides</h2>
          {relations.map((relation, index) => (
            <Relation key={index} relation={relation} />
          ))}
        </>
      )}
      {cost && (
        <p>
          The policies {cost.milliseconds < 0 ? 'save' : 'cost'} {milliseconds(Math.abs(cost.milliseconds))}, compared
          with <code>{cost.bypassedBy}</code>, which bypasses them.
        </p>
      )}
      {plan !== null && (
        <details open>
          <summary>Plan</summary>
          <PlanView plan={plan} />
        </details>
      )}
      {statements.length > 0 && (
        <details>
          <summary>SQL</summary>
          {statements.map(({ sql, values }, index) => (
            <div key={index}>
              <Snippet text={sql} />
              {values.length > 0 && (
                <ol class="small">
                  {values.map((value, at) => (
                    <li key={at}>
                      <code>{value ?? 'null'}</code>
                    </li>
                  ))}
                </ol>
              )}
            </div>
          ))}
        </details>
      )}
      {notes.map((note) => (
        <p key={note} class="faint small">
          {note}
        </p>
      ))}
      {isTesting && (
        <PolicyTestDialog
          request={request}
          viewer={viewer}
          explanation={explanation}
          onClose={() => setTesting(false)}
        />
      )}
    </>
  )
}

const messageOf = (error: unknown): string | undefined => {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, message, hint } = error as Readonly<Record<string, unknown>>
  return [code, message, hint].filter((part) => typeof part === 'string').join(' · ')
}

function Summary({ explanation, viewer }: { readonly explanation: ShownExplanation; readonly viewer: Viewer }) {
  const { request, response, rows } = explanation
  const hidden = rows.before !== null && rows.after !== null ? rows.before - rows.after : 0
  return (
    <p class="explained">
      {response ? (
        <Badge kind={response.status < 400 ? 'good' : 'bad'}>{response.status}</Badge>
      ) : (
        <Badge kind="warning">not run</Badge>
      )}{' '}
      <strong>{viewerLabel(viewer)}</strong>
      {request.role !== viewerLabel(viewer) && <span class="faint"> ({request.role})</span>}{' '}
      {rows.after !== null && rows.before !== null
        ? `${verbOf(request)} ${rows.after} of ${countText(rows.before, 'row')}${limitOf(request)}.`
        : rows.after !== null
          ? `${verbOf(request)} ${countText(rows.after, 'row')}${limitOf(request)}.`
          : rows.before !== null && response && response.status >= 400
            ? `is refused, for ${countText(rows.before, 'row')}.`
            : ''}{' '}
      {hidden > 0 && <Badge kind="warning">{hidden} hidden by policies</Badge>}
    </p>
  )
}

type Explainable = ShownExplanation['request']

const isRead = ({ method }: Explainable): boolean => method === 'GET' || method === 'HEAD'

const verbOf = (request: Explainable): string => (isRead(request) ? 'gets' : 'writes')

/** All rows that match are counted, not only those of the page that a read asks for. */
const limitOf = (request: Explainable): string =>
  isRead(request) && /[?&](?:limit|offset)=/.test(request.target) ? ', before limit and offset' : ''

type RefusedProps = Pick<ExplainedProps, 'onTrust'> & Pick<ShownExplanation, 'effects'>

const Refused = ({ effects, onTrust }: RefusedProps) => (
  <div class="problem" role="alert">
    <p>The request was not run, because a rollback may not undo what it reaches:</p>
    <ul>
      {effects.refused.map(({ object, reason, through }) => (
        <li key={object}>
          <code>{object}</code>: {reason}
          {through.length > 0 && <span class="faint"> (through {through.join(', ')})</span>}
        </li>
      ))}
    </ul>
    <Button kind="danger" onClick={() => onTrust(effects.refused.map(({ object }) => object.replace(/\(.*$/, '')))}>
      Run it anyway
    </Button>
  </div>
)

const securityBadges = { on: 'good', off: 'bad', bypassed: 'warning' } as const
const securityTexts = { on: 'row-level security', off: 'no row-level security', bypassed: 'bypasses policies' } as const

function Relation({ relation }: { readonly relation: ShownRelation }) {
  const { schema, name, role, through, commands, rowSecurity, policies, examined } = relation
  return (
    <div class="relation">
      <p>
        <code>
          {schema}.{name}
        </code>{' '}
        <Badge kind={securityBadges[rowSecurity]}>{securityTexts[rowSecurity]}</Badge>{' '}
        <span class="faint small">
          {commands.join(', ')} as {role}
          {through !== null && `, through ${through}`}
          {examined && `; ${examined.allowed} of ${examined.rows}${examined.isComplete ? '' : '+'} rows pass`}
        </span>
      </p>
      {policies.length > 0 && (
        <ul class="policies">
          {policies.map((policy) => (
            <li key={policy.name}>
              <strong>{policy.name}</strong>{' '}
              <span class="faint small">
                {policy.permissive ? '' : 'restrictive, '}for {policy.command}
                {policy.passes !== null && `; ${policy.passes} rows pass`}
              </span>
              {policy.usingResolved !== null && (
                <Condition label="using" text={policy.using} resolved={policy.usingResolved} />
              )}
              {policy.checkResolved !== null && (
                <Condition label="with check" text={policy.check} resolved={policy.checkResolved} />
              )}
            </li>
          ))}
        </ul>
      )}
      {rowSecurity === 'on' && policies.length === 0 && <p class="small">No policy applies: every row is refused.</p>}
    </div>
  )
}

type ConditionProps = { readonly label: string; readonly text: string | null; readonly resolved: string }

/** A condition with the caller's values in it. */
const Condition = ({ label, text, resolved }: ConditionProps) => (
  <p class="small">
    <span class="faint">{label}</span> <code title={text ?? ''}>{resolved}</code>
  </p>
)
