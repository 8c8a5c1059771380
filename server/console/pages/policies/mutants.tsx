// Weaker rules, and whether a test noticed them: those that no test notices come first, beside the text of their policy.
import { useState } from 'preact/hooks'
import type { AcceptedMutant, CheckReport, MatrixPolicy, RunMutant } from '../../../services/console/policy-protocol.ts'
import { consoleApi, type Viewer } from '../../api.ts'
import type { AskedRequest } from '../../explanation/asked-request.ts'
import { PolicyTestDialog, type Expected } from '../../explanation/policy-test-dialog.tsx'
import { Badge, Button, Dialog, Problem, Snippet, TextField } from '../../parts.tsx'
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
  const [accepting, setAccepting] = useState<RunMutant>()
  // Policies first: they decide about rows.
  const unnoticed = mutants
    .filter(({ outcome }) => outcome === 'unnoticed')
    .sort((a, b) => Number(b.policy !== null) - Number(a.policy !== null))
  const others = mutants.filter(({ outcome }) => outcome !== 'unnoticed')
  const [good, bad] = kind === 'mutants' ? ['noticed', 'not noticed'] : ['exercised', 'not exercised']
  const suggested = testing && suggestionFor(testing, restPath === '/' ? '' : restPath)
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
          <p class="bar">
            <Button onClick={() => setTesting(mutant)}>Write a test for it</Button>
            <Button onClick={() => setAccepting(mutant)}>Accept it</Button>
          </p>
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
      {suggested && (
        <PolicyTestDialog
          viewer={suggested.viewer ?? viewer}
          request={suggested.request}
          expected={suggested.expected}
          onClose={() => setTesting(undefined)}
        />
      )}
      {accepting && <AcceptDialog mutant={accepting} onClose={() => setAccepting(undefined)} />}
    </>
  )
}

function AcceptDialog({ mutant: { id }, onClose }: { readonly mutant: RunMutant; readonly onClose: () => void }) {
  const [reason, setReason] = useState('')
  const [error, setError] = useState<unknown>()
  return (
    <Dialog title="Accept that no test notices it" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const body: AcceptedMutant = { mutant: id, reason }
          consoleApi('policy-tests/accepted', { method: 'POST', body }).then(onClose, setError)
        }}
      >
        <p>{id}</p>
        <TextField label="Why it is right as it is" required value={reason} onText={setReason} />
        <Problem error={error} />
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Accept
          </Button>
        </div>
      </form>
    </Dialog>
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

type Suggestion = {
  readonly request: AskedRequest
  readonly viewer: Viewer | undefined
  readonly expected: Expected
}

/** A test that may notice the mutant: people complete it with the row that it is about. */
function suggestionFor({ object, id, command, roles }: RunMutant, restPath: string): Suggestion {
  const name = encodeURIComponent(object.slice(object.indexOf('.') + 1))
  const isGrant = /: (?:grant|revoke) /.test(id)
  const [role] = roles ?? []
  const viewer: Viewer | undefined =
    isGrant && role !== undefined && role !== 'public' ? { kind: 'role', role } : undefined
  // Without the privilege, the request is refused before any row is looked at.
  const expected = id.includes(': grant ') ? { error: '42501' } : {}
  if (/: (?:grant|revoke) execute /.test(id)) {
    return { request: { request: `POST ${restPath}/rpc/${name.replace(/\(.*$/, '')}`, body: '{}' }, viewer, expected }
  }
  const path = `${restPath}/${name}`
  switch (command) {
    case 'insert':
      return { request: { request: `POST ${path}`, body: '{}' }, viewer, expected }
    case 'update':
      return { request: { request: `PATCH ${path}`, body: '{}' }, viewer, expected }
    case 'delete':
      return { request: { request: `DELETE ${path}` }, viewer, expected }
    default:
      return { request: { request: `GET ${path}` }, viewer, expected }
  }
}
