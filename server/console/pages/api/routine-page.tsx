// A function in the API.
import type { ConsoleSchema, RoutineSummary } from '../../../services/console/schema-protocol.ts'
import { Badge, Table } from '../../parts.tsx'
import type { Place } from '../../rest/relation.ts'
import { href } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { callBody } from './examples.ts'
import { RequestBuilder } from './request-builder.tsx'
import { TypesOf } from './types.tsx'

type Props = { readonly all: ConsoleSchema; readonly routines: readonly RoutineSummary[] }

/** All overloads of a name. */
export function RoutinePage({ all, routines }: Props) {
  const { restPath } = useSession()
  const [first] = routines
  if (!first) return null
  const { schema, name } = first
  const place: Place = { restPath, schema, name, isDefault: all.exposed[0] === schema }
  return (
    <>
      <header class="table-head">
        <a class="back" href={href(['api'])}>
          API
        </a>
        <h1>{name}</h1>
        <Badge>function</Badge>
      </header>
      {routines.map((routine) => (
        <section key={routine.parameters.map(({ type }) => type).join()}>
          <p>
            <Badge>{routine.volatility}</Badge> returns {routine.returns.isSet ? 'rows of ' : ''}
            <code>{routine.returns.type}</code>
          </p>
          {routine.comment !== null && <p class="comment">{routine.comment}</p>}
          <Parameters routine={routine} />
          <RequestBuilder place={place} isCall example={{ method: 'POST', parameters: [], body: callBody(routine) }} />
        </section>
      ))}
      <h2>TypeScript</h2>
      <TypesOf path={[schema, 'Functions', name]} schema={schema} />
    </>
  )
}

const Parameters = ({ routine: { parameters } }: { readonly routine: RoutineSummary }) =>
  parameters.length === 0 ? (
    <p class="faint">It has no parameters.</p>
  ) : (
    <Table head={['Parameter', 'Type', 'Value']}>
      {parameters.map(({ name, type, isRequired, isVariadic }, index) => (
        <tr key={index}>
          <th scope="row">
            <code>{name === '' ? `(${index + 1})` : name}</code>
          </th>
          <td>
            <code>{type}</code>
          </td>
          <td>
            <small>
              {isRequired ? 'required' : 'has a default'}
              {isVariadic ? ', variadic' : ''}
            </small>
          </td>
        </tr>
      ))}
    </Table>
  )
