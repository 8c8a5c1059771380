// The event of a change, which is built once for all who see the same of it.
import type { ChangeItem } from './change-item.ts'
import type { Projection } from './projection.ts'
import type { ChangeEvent } from './row-changes.ts'
import type { ShownRows } from './shown-rows.ts'

/** `key`: all of the new row, and the key of the old one. `leaving`: the old row only. */
export type Look = 'all' | 'key' | 'leaving'

export function eventOf(item: ChangeItem, projection: Projection, look: Look, shown: ShownRows): ChangeEvent {
  const { kind, time, position } = item
  const row = shown.completed(item)
  const data = (): string =>
    projection.data({
      kind,
      time,
      position,
      row: kind === 'DELETE' || look === 'leaving' ? undefined : row,
      old: kind === 'DELETE' ? row : item.old,
      hasKeyOnly: look === 'key',
    })
  // Values that were read from the table may differ from viewer to viewer.
  const events = row === item.row ? item.events : shown.eventsOf(item)
  return keptEvent(events, `${projection.id} ${look}`, position, data)
}

export function keptEvent(
  events: Map<string, ChangeEvent>,
  key: string,
  position: string,
  data: () => string,
): ChangeEvent {
  let event = events.get(key)
  if (!event) events.set(key, (event = { data: data(), position }))
  return event
}
