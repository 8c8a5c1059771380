// Weaker rules, and whether a test noticed them: those that no test notices come first, beside the text of their policy.
import { useState } from 'preact/hooks'
import type { CheckReport, MatrixPolicy, RunMutant } from '../../../services/console/policy-protocol.ts'
import { PolicyTestDialog } from '../../explanation/policy-test-dialog.tsx'
import { Badge, Button, Snippet } from '../../parts.tsx'
import { useSession } from '../../session.tsx'
import { useViewer } from '../../viewer.tsx'

type MutantsProps = {
  readonly kind: 'mutants' | 'coverage'
  readonly mutants: readonly RunMutant[]
  readonly report: CheckReport | undefined
}

export function Mutants({ kind, mutants, report }: MutantsProps) {
  const { restPath } = useSession()
  const { viewer } = useViewer()
  const [testing, setTesting] = useState<RunMutant>()
  const unnoticed = mutants.filter(({ outcome }) => outcome === 'unnoticed')
  const others = mutants.filter(({ outcome }) => outcome !== 'unnoticed')
  const [good, bad] = kind === 'mutants' ? ['noticed', 'not noticed'] : ['exercised', 'not exercised']
  return (
    <>
      <h3>
        {unnoticed.length} of {mutants.length} {kind === 'mutants' ? 'weaker rules' : 'rules'} {bad}
      </h3>
      {unnoticed.map((mutant) => (
        <article key={mutant.id} class="mutant">
          <p>
            <Badge kind="warning">{bad}</Badge> <strong>{mutant.id}</strong>
          </p>
          {mutant.error !== null && <p class="small">It could not be tried: {mutant.error}</p>}
          <div class="beside">
            <PolicyText policy={policyOf(report, mutant)} />
            <div>
              <p class="faint small">{kind === 'mutants' ? 'The weaker rule' : 'What was changed'}</p>
              <Snippet text={mutant.sql.map((text) => `${text};`).join('\n')} />
            </div>
          </div>
          <Button onClick={() => setTesting(mutant)}>Write a test for it</Button>
        </article>
      ))}
      {others.length > 0 && (
        <details>
          <summary>
            {others.length} {good}
          </summary>
          <ul>
            {others.map(({ id, outcome, by, reason }) => (
              <li key={id}>
                <Badge kind={outcome === 'noticed' ? 'good' : 'plain'}>
                  {outcome === 'noticed' ? good : 'accepted'}
                </Badge>{' '}
                {id} <span class="faint small">{by === null ? reason : `by ${by}`}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      {testing && (
        <PolicyTestDialog
          viewer={viewer}
          request={{ request: requestFor(testing, restPath === '/' ? '' : restPath) }}
          onClose={() => setTesting(undefined)}
        />
      )}
    </>
  )
}

const policyOf = (report: CheckReport | undefined, { object, policy }: RunMutant): MatrixPolicy | undefined =>
  report?.relations
    .find(({ schema, name }) => `${schema}.${name}` === object)
    ?.policies.find(({ name }) => name === policy)

function PolicyText({ policy }: { readonly policy: MatrixPolicy | undefined }) {
  if (!policy) return null
  const { name, command, permissive, roles, using, check } = policy
  const lines = [
    `policy ${name}${permissive ? '' : ' as restrictive'} for ${command} to ${roles.join(', ')}`,
    ...(using === null ? [] : [`  using (${using})`]),
    ...(check === null ? [] : [`  with check (${check})`]),
  ]
  return (
    <div>
      <p class="faint small">The policy</p>
      <Snippet text={lines.join('\n')} />
    </div>
  )
}

/** A request that may notice the mutant: a read of its table, or a call of its function. */
function requestFor({ object, id }: RunMutant, restPath: string): string {
  const name = encodeURIComponent(object.slice(object.indexOf('.') + 1))
  if (/: (?:grant|revoke) execute/.test(id)) return `POST ${restPath}/rpc/${name}`
  return `GET ${restPath}/${name}`
}
