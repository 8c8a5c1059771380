// A table or view in the API: columns, requests, types.
import { useState } from 'preact/hooks'
import type { ColumnDetails, ConsoleSchema, RelationDetails } from '../../../services/console/schema-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Badge, Loading, Problem, Table, Tabs, useLoaded } from '../../parts.tsx'
import { parseRows } from '../../rest/cells.ts'
import { readOf, sendAs, type Place } from '../../rest/relation.ts'
import { href } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { useViewer } from '../../viewer.tsx'
import { exampleOf, type Operation } from './examples.ts'
import { RequestBuilder } from './request-builder.tsx'
import { TypesOf } from './types.tsx'

type Props = { readonly all: ConsoleSchema; readonly schema: string; readonly name: string }

export function RelationPage({ all, schema, name }: Props) {
  const { restPath } = useSession()
  const { viewer } = useViewer()
  const place: Place = { restPath, schema, name, isDefault: all.exposed[0] === schema }
  const details = useLoaded(
    () =>
      consoleApi<RelationDetails>(
        `schema/relation?schema=${encodeURIComponent(schema)}&name=${encodeURIComponent(name)}`,
      ),
    [],
  )
  const sample = useLoaded(
    async () => parseRows(await (await sendAs(viewer, readOf(place, [['limit', '1']]))).text())[0],
    [JSON.stringify(viewer)],
  )
  const relation = details.value
  if (!relation) return details.error === undefined ? <Loading /> : <Problem error={details.error} />
  return (
    <>
      <header class="table-head">
        <a class="back" href={href(['api'])}>
          API
        </a>
        <h1>{name}</h1>
        <Badge>{relation.kind}</Badge>
        <a href={href(['tables', schema, name])}>Rows</a>
      </header>
      {relation.comment !== null && <p class="comment">{relation.comment}</p>}
      <Requests place={place} relation={relation} sample={sample.isLoading ? undefined : sample.value} />
      <h2>Columns</h2>
      <p class="small faint">
        {Object.entries(relation.access)
          .map(([role, letters]) => [role, letters.replace(/[a-z]/g, '')] as const)
          .filter(([, letters]) => letters !== '')
          .map(([role, letters]) => `${role}: ${rights(letters)}`)
          .join('; ')}
      </p>
      <Columns relation={relation} />
      <h2>TypeScript</h2>
      <TypesOf path={[schema, relation.kind.endsWith('view') ? 'Views' : 'Tables', name]} schema={schema} />
    </>
  )
}

const operations: readonly { readonly key: Operation; readonly label: string }[] = [
  { key: 'list', label: 'List' },
  { key: 'row', label: 'One row' },
  { key: 'insert', label: 'Insert' },
  { key: 'update', label: 'Update' },
  { key: 'delete', label: 'Delete' },
]

type RequestsProps = {
  readonly place: Place
  readonly relation: RelationDetails
  readonly sample: ReturnType<typeof parseRows>[number] | undefined
}

function Requests({ place, relation, sample }: RequestsProps) {
  const [chosen, setChosen] = useState<Operation>('list')
  const possible = operations.filter(
    ({ key }) =>
      key === 'list' ||
      key === 'row' ||
      (key === 'insert' && relation.isInsertable) ||
      (key === 'update' && relation.isUpdatable) ||
      (key === 'delete' && relation.isDeletable),
  )
  return (
    <>
      <Tabs label="Request" tabs={possible} chosen={chosen} onChoose={setChosen} />
      <RequestBuilder place={place} isCall={false} example={exampleOf(chosen, relation, sample)} />
    </>
  )
}

const Columns = ({ relation }: { readonly relation: RelationDetails }) => (
  <Table head={['Name', 'Type', 'Value', 'Comment', 'Other rights']}>
    {relation.columns.map((column) => (
      <tr key={column.name}>
        <th scope="row">
          <code>{column.name}</code>
        </th>
        <td>
          <code>{column.type}</code>
          {column.enumValues.length > 0 && (
            <>
              <br />
              <small class="faint">{column.enumValues.join(', ')}</small>
            </>
          )}
        </td>
        <td>
          <small>{valueText(column, relation)}</small> <Reference column={column.name} relation={relation} />
        </td>
        <td class="comment">{column.comment}</td>
        <td>
          <small class="faint">{otherRights(column, relation).join('; ')}</small>
        </td>
      </tr>
    ))}
  </Table>
)

const rights = (letters: string): string =>
  [...letters].map((letter) => ({ S: 'read', I: 'insert', U: 'update', D: 'delete' })[letter] ?? letter).join(', ')

/** What roles may do with a column, where it differs from what they may do with all columns. */
const otherRights = ({ access }: ColumnDetails, { access: ofAll }: RelationDetails): readonly string[] =>
  [...new Set([...Object.keys(ofAll), ...Object.keys(access)])].flatMap((role) => {
    const letters = access[role] ?? ''
    const expected = (ofAll[role] ?? '').replace(/[^SIU]/g, '')
    return letters === expected ? [] : [`${role}: ${letters === '' ? 'nothing' : rights(letters)}`]
  })

function valueText(
  { name, isNullable, default: given, generated, identity }: ColumnDetails,
  { primaryKey }: RelationDetails,
): string {
  return [
    primaryKey.includes(name) ? 'primary key' : '',
    isNullable ? 'may be null' : given === null && identity === null && generated === null ? 'required' : '',
    identity === null ? '' : `identity ${identity}`,
    generated === null ? '' : `generated as ${generated}`,
    given === null ? '' : `default ${given}`,
  ]
    .filter(Boolean)
    .join(', ')
}

function Reference({ column, relation }: { readonly column: string; readonly relation: RelationDetails }) {
  const link = relation.links.find(
    ({ direction, columns }) => direction === 'to' && columns.some(([own]) => own === column),
  )
  if (!link) return null
  return (
    <a href={href(['api', 'table', link.schema, link.name])}>
      <small>→ {link.name}</small>
    </a>
  )
}
