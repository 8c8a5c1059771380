// Values that were typed in cells and refused: the cell keeps them, also when rows are loaded again, until they are stored or given up.
import { useState } from 'preact/hooks'
import type { RelationDetails } from '../../../services/console/schema-protocol.ts'
import { messageOf } from '../../parts.tsx'
import type { Row } from '../../rest/cells.ts'
import { keyText } from '../../rest/relation.ts'

export type RefusedValue = { readonly json: string; readonly message: string }

export type RefusedValues = {
  readonly of: (row: Row, column: string) => RefusedValue | undefined
  readonly keep: (row: Row, column: string, json: string, error: unknown) => void
  readonly giveUp: (row: Row, column: string) => void
  readonly giveUpAll: () => void
}

/** @param relation undefined while it is loaded: no cell can be edited then */
export function useRefusedValues(relation: Pick<RelationDetails, 'primaryKey'> | undefined): RefusedValues {
  const [values, setValues] = useState<ReadonlyMap<string, RefusedValue>>(new Map())
  const keyOf = (row: Row, column: string): string =>
    JSON.stringify([keyText(relation ?? { primaryKey: [] }, row), column])
  return {
    of: (row, column) => (values.size === 0 ? undefined : values.get(keyOf(row, column))),
    keep: (row, column, json, error) =>
      setValues((known) => new Map(known).set(keyOf(row, column), { json, message: messageOf(error) })),
    giveUp: (row, column) =>
      setValues((known) => {
        const key = keyOf(row, column)
        return known.has(key) ? new Map([...known].filter(([other]) => other !== key)) : known
      }),
    giveUpAll: () => setValues(new Map()),
  }
}
