// A new row, field by field, and all of a row that is there.
import { useState } from 'preact/hooks'
import type { ColumnDetails, RelationDetails } from '../../../services/console/schema-protocol.ts'
import { ApiProblem } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Button, Copy, Dialog } from '../../parts.tsx'
import { href } from '../../router.ts'
import { isNull, isStructured, jsonOf, objectOf, prettyJson, textOf, type Row } from '../../rest/cells.ts'
import { equals } from '../../rest/filter.ts'
import { choicesOf } from './cell-editor.tsx'
import { Refusal } from './refusal.tsx'
import { WriteRefused } from './writes.ts'

type InsertProps = {
  readonly relation: RelationDetails
  readonly onInsert: (values: ReadonlyMap<string, string>) => Promise<unknown>
  readonly onClose: () => void
}

const isWritable = ({ generated, identity }: ColumnDetails): boolean => generated === null && identity !== 'always'

const isRequired = (column: ColumnDetails): boolean =>
  !column.isNullable && column.default === null && column.identity === null

/** Fields that are left empty are not sent, so that they get their defaults. */
export function InsertDialog({ relation, onInsert, onClose }: InsertProps) {
  const [texts, setTexts] = useState<ReadonlyMap<string, string | null>>(new Map())
  const { error, isBusy, run } = useAction()
  const columns = relation.columns.filter(isWritable)
  const set = (name: string, text: string | null | undefined): void =>
    setTexts((all) => {
      const next = new Map(all)
      if (text === undefined) next.delete(name)
      else next.set(name, text)
      return next
    })
  const values = (): ReadonlyMap<string, string> => {
    const typed = columns.flatMap((column): (readonly [string, string])[] => {
      const text = texts.get(column.name)
      if (text === undefined) return []
      try {
        return [[column.name, text === null ? 'null' : jsonOf(text, column)]]
      } catch (reason) {
        throw new Error(`${column.name}: ${reason instanceof Error ? reason.message : String(reason)}`, {
          cause: reason,
        })
      }
    })
    return new Map(typed)
  }
  const submit = async (): Promise<void> => {
    await onInsert(values())
    onClose()
  }
  return (
    <Dialog title={`Insert into ${relation.name}`} isWide onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          run(submit)
        }}
      >
        <div class="row-fields">
          {columns.map((column) => (
            <InsertField
              key={column.name}
              column={column}
              text={texts.get(column.name)}
              error={faultAt(error, column.name)}
              onChange={(text) => set(column.name, text)}
            />
          ))}
        </div>
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            Insert
          </Button>
        </div>
      </form>
      {/* Not in the form: its dialogs have forms of their own. */}
      <Refusal error={error} />
    </Dialog>
  )
}

/** What the JSON Schema of the table says of a field, or of a part of its document. */
function faultAt(error: unknown, name: string): string | undefined {
  const problem = error instanceof WriteRefused ? error.problem : error
  if (!(problem instanceof ApiProblem)) return undefined
  const start = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  const faults = Object.entries(problem.fieldErrors).filter(([at]) => at === start || at.startsWith(`${start}/`))
  return faults.length === 0
    ? undefined
    : faults.map(([at, text]) => `${at.slice(start.length)} ${text}`.trim()).join('; ')
}

type FieldProps = {
  readonly column: ColumnDetails
  readonly text: string | null | undefined
  readonly error: string | undefined
  readonly onChange: (text: string | null | undefined) => void
}

function InsertField({ column, text, error, onChange }: FieldProps) {
  const choices = choicesOf(column)
  const hint = column.default ?? (column.identity === null ? (column.isNullable ? 'null' : '') : 'identity')
  const shared = {
    'aria-label': column.name,
    value: text ?? '',
    disabled: text === null,
    placeholder: hint,
    onInput: ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }) =>
      onChange(value === '' ? undefined : value),
  }
  return (
    <div class="field row-field">
      <span>
        {column.name}
        {isRequired(column) && <span title="Required"> *</span>} <small class="faint">{column.type}</small>
      </span>
      {choices ? (
        <select {...shared}>
          <option value="">{hint === '' ? 'choose' : hint}</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : isStructured(column) ? (
        <textarea rows={3} {...shared} />
      ) : (
        <input {...shared} />
      )}
      {column.isNullable && column.default !== null && (
        <label class="small">
          <input type="checkbox" checked={text === null} onChange={() => onChange(text === null ? undefined : null)} />{' '}
          null
        </label>
      )}
      {column.comment !== null && <small class="faint">{column.comment}</small>}
      {error !== undefined && <em role="alert">{error}</em>}
    </div>
  )
}

type RowProps = {
  readonly relation: RelationDetails
  readonly row: Row
  readonly onClose: () => void
}

/** All values of a row, and the rows that refer to it. */
export function RowDialog({ relation, row, onClose }: RowProps) {
  const types = new Map(relation.columns.map((column) => [column.name, column]))
  const references = relation.links.filter(({ direction }) => direction === 'from')
  return (
    <Dialog title={relation.name} isWide onClose={onClose}>
      <dl class="row-values">
        {Array.from(row, ([name, json]) => {
          const type = types.get(name)
          const text = textOf(json, type)
          return (
            <div key={name}>
              <dt>
                {name} <small class="faint">{type?.type}</small>
              </dt>
              <dd class={isNull(json) ? 'faint' : ''}>
                {isNull(json) ? 'null' : <pre tabIndex={0}>{type && isStructured(type) ? prettyJson(text) : text}</pre>}
              </dd>
            </div>
          )
        })}
      </dl>
      {references.length > 0 && (
        <>
          <h3>Rows that refer to it</h3>
          <ul>
            {references.map((link) => (
              <li key={`${link.schema}.${link.name}.${link.constraint}`}>
                <a
                  href={href(
                    ['tables', link.schema, link.name],
                    new URLSearchParams(
                      link.columns.map(([own, other]) => {
                        const [name, value] = equals(other, textOf(row.get(own)))
                        return [name, value]
                      }),
                    ),
                  )}
                >
                  {link.name}
                </a>{' '}
                <small class="faint">{link.columns.map(([, other]) => other).join(', ')}</small>
              </li>
            ))}
          </ul>
        </>
      )}
      <div class="actions">
        <Copy text={prettyJson(objectOf(row))} label="Copy as JSON" />
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  )
}
