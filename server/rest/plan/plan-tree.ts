// Maps read plans without copying unchanged parts.
import type { ReadPlan } from './read-plan.ts'

/** Like `map`, but returns the list itself if no element changes. */
export function mapShared<T>(list: readonly T[], change: (element: T) => T): readonly T[] {
  let copy: T[] | undefined
  for (let at = 0; at < list.length; at++) {
    const before = list[at] as T
    const after = change(before)
    if (after === before) continue
    copy ??= list.slice()
    copy[at] = after
  }
  return copy ?? list
}

/** Changes a plan and then, depth first, all its embeds. */
export function mapTree<P extends ReadPlan>(plan: P, change: <Q extends ReadPlan>(plan: Q) => Q): P {
  const changed = change(plan)
  if (changed.embeds.length === 0) return changed
  const embeds = mapShared(changed.embeds, (embed) => mapTree(embed, change))
  return embeds === changed.embeds ? changed : { ...changed, embeds }
}
