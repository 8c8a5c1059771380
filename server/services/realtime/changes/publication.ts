// The publication whose tables can be subscribed to, and what becomes of subscriptions whose table leaves it.
import { isUnreachable } from '../../../postgres/database-error.ts'
import type { Database } from '../../../postgres/database.ts'
import { qualified } from '../../../rest/sql/identifier.ts'
import type { LogFeed } from '../log-feed.ts'
import { isNamed, type Subscriber } from './audience.ts'
import type { Binding } from './filter-text.ts'
import { publishedRelative, publishedTables, type PublishedRelative } from './published-names.ts'
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

export class PublicationWatch {
  readonly #parts: PublicationParts
  #timer: NodeJS.Timeout | undefined

  constructor(parts: PublicationParts) {
    this.#parts = parts
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  async #noLongerPublished(binding: Binding, isThere: boolean): Promise<ChangeFailure> {
    const { schema, table } = binding
    const relative = isThere ? await publishedRelative(this.#parts.database, publication, schema, table) : undefined
    const message = relative ? otherLevelPublished(relative) : noLongerPublished(binding, isThere)
    return { code: 'Unavailable', message }
  }

  /** Tells subscribers that their table has left the publication, or has come back. */
  async check(): Promise<void> {
    const { database, feed, subscribers, onFailure, onError } = this.#parts
    if (subscribers.size === 0) return
    try {
      const tables = await publishedTables(database, publication)
      if (tables) feed.readWith(publication)
      for (const subscriber of [...subscribers]) {
        const binding = subscriber.bindings.find((one) => !tables?.some((table) => isNamed(one, table)))
        if (subscriber.isUnpublished === (binding !== undefined)) continue
        subscriber.isUnpublished = binding !== undefined
        onFailure(
          subscriber,
          binding
            ? await this.#noLongerPublished(binding, tables !== undefined)
            : { code: 'Gap', message: publishedAgain },
        )
      }
      clearTimeout(this.#timer)
      // Event triggers say when the publication changes, which only a superuser can create.
      if ([...subscribers].some(({ isUnpublished }) => isUnpublished)) {
        this.#timer = setTimeout(() => void this.check(), interval).unref()
      }
    } catch (error) {
      // Without the database, its subscribers hear of that.
      if (!isUnreachable(error)) onError(error)
    }
  }
}

const begin = 'Changes do not come any more: '

const publishedAgain = 'Changes may be missing: a table was not published for a while. Further changes follow.'

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
