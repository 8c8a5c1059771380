// Walking a read plan without copying what stays as it is.
import type { ReadPlan } from './read-plan.ts'

/** `map` that hands back the list itself when no element changed. */
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

/** Changes a plan and then, depth first, every embed below it. */
export function mapTree<P extends ReadPlan>(plan: P, change: <Q extends ReadPlan>(plan: Q) => Q): P {
  const changed = change(plan)
  if (changed.embeds.length === 0) return changed
  const embeds = mapShared(changed.embeds, (embed) => mapTree(embed, change))
  return embeds === changed.embeds ? changed : { ...changed, embeds }
}
