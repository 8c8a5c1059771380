// Keys of a body that name a relationship, in the grammar of embeds: `lines`, `lines!order_id`, `rows:lines!order_id`.
import { ApiError } from '../../errors.ts'
import { parseSelect } from '../../request/select.ts'

/** What a key names. */
export type NestedKey = { readonly relation: string; readonly hint: string | null }

/** Reads a key of a body as an embed without its select list; undefined if it is none. */
export function parseNestedKey(key: string): NestedKey | undefined {
  try {
    const [item, ...others] = parseSelect(`${key}(*)`)
    if (item?.kind !== 'embed' || others.length > 0 || item.joinType !== null) return undefined
    const [selected, ...more] = item.select
    const isWhole = selected?.kind === 'field' && selected.field.name === '*' && more.length === 0
    return isWhole ? { relation: item.relation, hint: item.hint } : undefined
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}
