// The publication whose tables can be subscribed to, and what becomes of subscriptions to what it does not report.
import { SingleFlight } from '../../../common/single-flight.ts'
import { isUnreachable } from '../../../postgres/database-error.ts'
import type { Database } from '../../../postgres/database.ts'
import { qualified } from '../../../rest/sql/identifier.ts'
import type { LogFeed } from '../log-feed.ts'
import { isNamed, type Subscriber } from './audience.ts'
import type { Binding, ChangeKind } from './filter-text.ts'
import {
  publishedRelative,
  publishWith,
  readPublication,
  unpublishedKinds,
  type Publication,
  type PublishedRelative,
} from './published-names.ts'
import type { ChangeFailure } from './row-changes.ts'

export const publication = 'supabase_realtime'

/** Milliseconds until the publication is looked at again while it lacks a table of a subscription. */
const interval = 2000

type PublicationParts = {
  readonly database: Pick<Database, 'runWith'>
  readonly feed: LogFeed
  readonly subscribers: ReadonlySet<Subscriber>
  readonly onFailure: (subscriber: Subscriber, failure: ChangeFailure) => void
  readonly onError: (error: unknown) => void
}

/** By names of tables in bindings, what mends that they are not published. */
type Absences = Map<string, string | undefined>

export class PublicationWatch {
  readonly #parts: PublicationParts
  readonly #checks = new SingleFlight(() => this.#check())
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(parts: PublicationParts) {
    this.#parts = parts
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  /** Informs subscribers of what the publication lacks of that which they listen to, and of what it has again. */
  check(): Promise<void> {
    return this.#checks.run()
  }

  async #check(): Promise<void> {
    const { database, feed, subscribers, onFailure, onError } = this.#parts
    if (subscribers.size === 0 || this.#isStopped) return
    try {
      const found = await readPublication(database, publication)
      if (found) feed.readWith(publication)
      const absences: Absences = new Map()
      for (const subscriber of [...subscribers]) {
        const lack = await this.#lackOf(subscriber, found, absences)
        if (subscriber.lack === lack) continue
        subscriber.lack = lack
        onFailure(
          subscriber,
          lack === undefined ? { code: 'Gap', message: publishedAgain } : { code: 'Unavailable', message: lack },
        )
      }
      clearTimeout(this.#timer)
      // Event triggers say when the publication changes, which only a superuser can create.
      if (!this.#isStopped && [...subscribers].some(({ lack }) => lack !== undefined)) {
        this.#timer = setTimeout(() => void this.check(), interval).unref()
      }
    } catch (error) {
      // Without the database, its subscribers hear of that.
      if (!isUnreachable(error)) onError(error)
    }
  }

  /** What a subscriber does not get, and what mends it. */
  async #lackOf(
    { bindings }: Subscriber,
    found: Publication | undefined,
    absences: Absences,
  ): Promise<string | undefined> {
    for (const binding of bindings) {
      const key = `${binding.schema}\0${binding.table}`
      if (!absences.has(key)) absences.set(key, await this.#absence(binding, found))
      const absence = absences.get(key)
      if (absence !== undefined) return absence
    }
    const actions = found?.actions ?? ''
    const kinds = [...new Set(bindings.flatMap((binding) => unpublishedKinds(binding, actions)))]
    return kinds.length === 0 ? undefined : kindsUnpublished(kinds, actions)
  }

  /** What mends that a table is not published; undefined if it is. */
  async #absence(binding: Binding, found: Publication | undefined): Promise<string | undefined> {
    if (found?.tables.some((table) => isNamed(binding, table))) return undefined
    const { schema, table } = binding
    const relative = found && (await publishedRelative(this.#parts.database, publication, schema, table))
    return relative ? otherLevelPublished(relative) : noLongerPublished(binding, found !== undefined)
  }
}

/** What mends that the publication does not report some kinds of changes. */
function kindsUnpublished(kinds: readonly ChangeKind[], actions: string): string {
  return `${kinds.join(' and ')} ${kinds.length === 1 ? 'is' : 'are'} not reported: the publication ${publication} publishes ${
    actions === '' ? 'no changes' : `only ${actions}`
  }. Publish more: alter publication ${publication} set (publish = '${publishWith(actions, kinds)}');`
}

const begin = 'Changes do not come any more: '

const publishedAgain = 'Changes may be missing: they were not published for a while. Further changes follow.'

/** What mends that the publication has another level of a partitioned table than the binding names. */
function otherLevelPublished({ schema, name, isPartition }: PublishedRelative): string {
  const other = qualified({ schema, name })
  return isPartition
    ? `${begin}the publication ${publication} reports them as those of partitions, such as ${other}. Listen to these, or report them as those of the table: alter publication ${publication} set (publish_via_partition_root = true);`
    : `${begin}the publication ${publication} reports them as those of ${other}. Listen to that table, or report them as those of its partitions: alter publication ${publication} set (publish_via_partition_root = false);`
}

function noLongerPublished({ schema, table }: Binding, isThere: boolean): string {
  const [verb, part] = isThere ? ['alter', 'add table'] : ['create', 'for table']
  const name = table === '*' ? '…' : qualified({ schema, name: table })
  return `${begin}the table is not in the publication ${publication}. Add it: ${verb} publication ${publication} ${part} ${name};`
}
