// Checks that bindings fit the tables that they name, before they are subscribed to.
import type { Identity } from '../../../identity/identity.ts'
import { isUnreachable, sqlState } from '../../../postgres/database-error.ts'
import type { Database } from '../../../postgres/database.ts'
import type { LogFeed } from '../log-feed.ts'
import { describePublished, type PublishedRelations } from '../policies/relation-policies.ts'
import { isNamed } from './audience.ts'
import { describedBinding, type Binding } from './filter-text.ts'
import { publication } from './publication.ts'
import type { TableCatalogue } from './published-table.ts'
import { ChangesRefused, ChangesUnavailable } from './row-changes.ts'
import type { Viewers } from './viewers.ts'

type CheckParts = {
  readonly database: Pick<Database, 'runWith'>
  readonly feed: LogFeed
  readonly catalogue: TableCatalogue
  readonly viewers: Viewers
}

export class BindingCheck {
  readonly #parts: CheckParts

  constructor(parts: CheckParts) {
    this.#parts = parts
  }

  /** The same while the log is read. Checks again if it was not read all the time: what was committed meanwhile may be missing. */
  async whileReading(
    bindings: readonly Binding[],
    identity: Identity,
    signal: AbortSignal,
  ): Promise<PublishedRelations> {
    const { feed } = this.#parts
    for (;;) {
      await feed.whenReading(signal)
      const { state } = feed
      const described = await this.check(bindings, identity, signal)
      signal.throwIfAborted()
      feed.readWith(publication)
      if (feed.state === state) return described
    }
  }

  /**
   * Checks that the tables, columns and values of bindings fit.
   *
   * @throws ChangesRefused, ChangesUnavailable
   */
  async check(bindings: readonly Binding[], identity: Identity, signal?: AbortSignal): Promise<PublishedRelations> {
    const { role } = identity
    try {
      const described = await describePublished(this.#parts.database, role, publication, bindings)
      const tables = described.relations.map((access) => this.#parts.catalogue.keep(access, role))
      // One after the other: other subscribers and requests need the database, too.
      for (const binding of bindings) {
        const named = tables.filter(({ access }) => isNamed(binding, access))
        if (named.length === 0) throw new ChangesRefused(notPublished(binding))
        for (const table of named) {
          signal?.throwIfAborted()
          await this.#compile(table, binding)
        }
      }
      return described
    } catch (error) {
      if (error instanceof ChangesRefused || error instanceof ChangesUnavailable || signal?.aborted === true)
        throw error
      if (isUnreachable(error)) throw new ChangesUnavailable('The database cannot be reached.')
      const state = sqlState(error)
      if (state === undefined) throw error
      throw new ChangesRefused(`ERROR ${state} ${error instanceof Error ? error.message : ''}`)
    }
  }

  async #compile(table: ReturnType<TableCatalogue['keep']>, binding: Binding): Promise<void> {
    try {
      await table.compile(binding, this.#parts.viewers.ofFilters(table.role))
    } catch (error) {
      if (!(error instanceof ChangesRefused)) throw error
      throw new ChangesRefused(
        `Unable to subscribe to changes with given parameters. An exception happened so please check your connect parameters: [${describedBinding(binding)}]. Exception: ${error.message}`,
      )
    }
  }
}

const notPublished = (binding: Binding): string =>
  `Unable to subscribe to changes with given parameters. Please check Realtime is enabled for the given connect parameters: [${describedBinding(binding)}]`
