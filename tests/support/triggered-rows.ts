// Generated writes to the tables and views of `tests/fixtures/triggered-rows.sql`.
import type { Random } from './seeded-random.ts'
import type { SentRequest } from './sent-request.ts'
import { generatedWriteTo, type Choices, type Column, type Target, type Targets } from './written-rows.ts'

const ids: Choices = ['1', '2', '3', '4', '5', '6', '77', '8', '9', '10', '11', 'null']
const notes: Choices = [
  ...(['"x"', '"quiet"', '"é \\"q\\""', 'null', '"teapot"', '"skipped"', '"no"', '"paid"', '"custom"'] as const),
  ...['"no json"', '"no status"', '"session"', '"German"', '"again"', '"checked"', `"${'long '.repeat(500)}"`],
]
const days: Choices = ['"2024-03-31"', '"infinity"', '"0044-03-15 BC"', 'null', '"x"']
const times: Choices = ['"2024-03-31T01:30:00.25+02:00"', '"-infinity"', 'null']

const id: Column = ['id', ids]
const note: Column = ['note', notes]
const day: Column = ['day', days]
const owner: Column = ['owner', ['"ann"', '"bob"', 'null']]

const target = (name: string, columns: readonly Column[], selects?: Choices): Target => ({
  name,
  key: ['id'],
  columns: [id, note, ...columns],
  selects,
})

const reacted = target('reacted', [day, ['moment', times], ['doc', ['{"a": [1 , 2]}', 'null', '"x"']], ['size', ['"(3,)"', 'null']]]) // prettier-ignore

/** Each has the columns `id` and `note`. */
export const triggeringTargets: Targets = [
  ...([reacted, reacted, reacted] as const),
  target('touched', [['doc', ['{"a":1}', 'null']]]),
  target('afterwards', [day]),
  target('by_statement', []),
  target('deferred', []),
  target('heads', [], ['*,followers(*)', 'followers(note)', 'id,...followers(text:note)']),
  target('followers', [], ['*,heads(*)', 'heads!inner(note),id', '...heads(head:note),note']),
  target('instead', [day]),
  target('by_rule', []),
  target('allowed', [owner, day]),
  target('members', [['parent_id', ['1', '2', '9', 'null']], ['since', days]], ['*,parents(*)', 'parents!inner(id),since', 'id,note,...parents(size)', 'parents()']), // prettier-ignore
]

/** @param shape determines all but the values */
export const generatedTriggeringWrite = (shape: Random, value: Random): SentRequest =>
  generatedWriteTo(triggeringTargets, shape, value)
