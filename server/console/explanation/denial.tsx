// What denies rows: missing privileges with the statements that give them, or the parts of policies that are not true.
import type { ShownDenial, ShownExplanation } from '../../services/console/policy-protocol.ts'
import { Badge, Snippet } from '../parts.tsx'

type DenialProps = { readonly denied: NonNullable<ShownExplanation['denied']> }

export const Denial = ({ denied: { privileges, rows } }: DenialProps) => (
  <div class="denial">
    {privileges.length > 0 && (
      <>
        <h2>Missing privileges</h2>
        <p>If the role should have them:</p>
        <Snippet text={privileges.map(({ grant }) => grant).join('\n')} />
      </>
    )}
    {rows.length > 0 && <h2>{rows.some(({ kind }) => kind === 'new') ? 'Refused rows' : 'Hidden rows'}</h2>}
    {rows.map(({ relation, kind, row, key, policies }, index) => (
      <div key={index} class="card">
        <p>
          <code>{relation}</code>{' '}
          {key ? <code>{JSON.stringify(key)}</code> : row === null ? '' : `row ${row} of the body`}{' '}
          <Badge kind={kind === 'new' ? 'bad' : 'warning'}>{kind === 'new' ? 'refused' : 'hidden'}</Badge>
        </p>
        {policies.length === 0 && <p>No policy allows it.</p>}
        <ul class="policies">
          {policies.map((policy) => (
            <DenyingPolicy key={`${policy.name} ${policy.clause}`} policy={policy} />
          ))}
        </ul>
      </div>
    ))}
  </div>
)

const DenyingPolicy = ({ policy }: { readonly policy: ShownDenial }) => (
  <li>
    <strong>{policy.name}</strong>{' '}
    <span class="faint small">
      {policy.permissive ? '' : 'restrictive, '}
      {policy.clause} of the policy for {policy.command}
    </span>
    {policy.tests.map(({ text, resolved, result }) => (
      <p key={text}>
        <code title={text}>{resolved}</code> <Badge kind="bad">{result === null ? 'unknown' : 'false'}</Badge>
      </p>
    ))}
    {Object.keys(policy.columns).length > 0 && (
      <p class="small">
        <span class="faint">The row has</span>{' '}
        {Object.entries(policy.columns).map(([name, value]) => (
          <code key={name} class="column">
            {name} = {JSON.stringify(value)}{' '}
          </code>
        ))}
      </p>
    )}
  </li>
)
