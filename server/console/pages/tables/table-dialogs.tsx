// The dialogs of the rows of a table.
import type { RelationDetails } from '../../../services/console/schema-protocol.ts'
import type { Viewer } from '../../api.ts'
import { Confirm } from '../../forms.tsx'
import type { Row } from '../../rest/cells.ts'
import type { Parameter } from '../../rest/filter.ts'
import { keyFilters, readOf, type Place } from '../../rest/relation.ts'
import { viewerLabel } from '../../viewer.tsx'
import { WhyDialog } from './refusal.tsx'
import { InsertDialog, RowDialog } from './row-form.tsx'
import { pageParameters } from './rows.ts'
import { PoliciesDialog } from './table-parts.tsx'
import { ImportDialog } from './transfer.tsx'
import { insertRow } from './writes.ts'

/** Which dialog is open. */
export type Shown =
  | { readonly kind: 'insert' | 'import' | 'delete' | 'refused' | 'policies' }
  | { readonly kind: 'row' | 'hidden'; readonly row: Row }

type Props = {
  readonly shown: Shown
  readonly place: Place
  readonly viewer: Viewer
  readonly relation: RelationDetails | undefined
  readonly parameters: readonly Parameter[]
  /** Number of rows that are selected. */
  readonly chosen: number
  /** Deletes them. */
  readonly onRemove: () => Promise<void>
  /** Called when there are new rows. */
  readonly onAdded: () => void
  readonly onClose: () => void
}

export function TableDialogs({
  shown,
  place,
  viewer,
  relation,
  parameters,
  chosen,
  onRemove,
  onAdded,
  onClose,
}: Props) {
  const who = viewerLabel(viewer)
  if (shown.kind === 'refused') {
    const sent = readOf(place, pageParameters(parameters))
    return <WhyDialog title={`Why ${who} is refused`} {...{ sent, viewer, onClose }} />
  }
  if (shown.kind === 'delete') {
    return (
      <Confirm
        title={`Delete ${chosen === 1 ? 'a row' : `${chosen} rows`} of ${place.name}?`}
        action={`Delete ${chosen}`}
        onConfirm={onRemove}
        onClose={onClose}
      >
        <p>
          {chosen === 1 ? 'It is' : 'They are'} deleted as {who}. This cannot be undone.
        </p>
      </Confirm>
    )
  }
  if (!relation) return null
  switch (shown.kind) {
    case 'insert': {
      const insert = async (values: ReadonlyMap<string, string>): Promise<void> => {
        await insertRow({ viewer, place, relation }, values)
        onAdded()
      }
      return <InsertDialog {...{ relation, onClose }} onInsert={insert} />
    }
    case 'import':
      return <ImportDialog {...{ viewer, place, relation, onClose }} onDone={onAdded} />
    case 'row':
      return <RowDialog {...{ relation, onClose }} row={shown.row} />
    case 'policies':
      return <PoliciesDialog {...{ relation, onClose }} />
    case 'hidden': {
      const sent = readOf(place, keyFilters(relation, shown.row))
      return <WhyDialog title={`Why ${who} does not see the row`} {...{ sent, viewer, onClose }} />
    }
    default:
      return shown.kind satisfies never
  }
}
