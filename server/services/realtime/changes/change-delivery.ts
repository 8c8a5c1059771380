// Evaluates transactions for subscribers, and hands their events out in the order of the log.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LogChange, LogRelation } from '../../../postgres/replication/log-transaction.ts'
import { isOfMessages } from '../log-feed.ts'
import type { Audience, Subscriber } from './audience.ts'
import type { BufferedTransaction } from './change-buffer.ts'
import type { EvaluatedChange } from './change-item.ts'
import { evaluate, type Delivery, type EvaluationTools } from './evaluation.ts'
import { isBefore, positionText, type ChangePosition } from './position.ts'

/** Changes that are evaluated together. The event loop serves others between two batches. */
export const batchSize = 500
/** Events that are handed out before others have their turn. */
const mostHandedOut = 2000

/** For whom a transaction is evaluated. */
export type Recipients = {
  readonly subscribers: () => Iterable<Subscriber>
  readonly audiencesOf: (relation: LogRelation) => Audience[]
  /** Whether a subscriber gets the changes of a transaction, by its number in the buffer. */
  readonly includes: (subscriber: Subscriber, sequence: number) => boolean
  /** Events up to it are left out. */
  readonly after?: ChangePosition | undefined
}

/** A change, with its transaction and its place there. */
type PlacedChange = {
  readonly change: LogChange
  readonly commit: bigint
  readonly index: number
  /** When the transaction committed, ISO 8601. */
  readonly time: string
  /** Number of the transaction in the buffer. */
  readonly sequence: number
}

export type SetBatch = (batch: Promise<void> | undefined) => void

export type ChangeDeliveryOptions = {
  readonly tools: EvaluationTools
  /** A transaction is missing. */
  readonly onGap: (subscribers: Iterable<Subscriber>, message: string) => void
}

export class ChangeDelivery {
  readonly #options: ChangeDeliveryOptions
  #events = 0

  constructor(options: ChangeDeliveryOptions) {
    this.#options = options
  }

  /** Events that were handed to subscribers. */
  get events(): number {
    return this.#events
  }

  /**
   * @param entries transactions that are evaluated together
   * @param setBatch receives what is being evaluated
   */
  async deliver(entries: readonly BufferedTransaction[], recipients: Recipients, setBatch: SetBatch): Promise<void> {
    let placed: PlacedChange[] = []
    const deliverPlaced = async (): Promise<void> => {
      if (placed.length === 0) return
      const batch = this.#deliverBatch(placed, recipients)
      placed = []
      setBatch(batch)
      try {
        await batch
      } finally {
        setBatch(undefined)
      }
    }
    for (const { transaction, sequence } of entries) {
      if (transaction.isTooLarge) {
        await deliverPlaced()
        const message =
          'Changes are missing: a transaction was larger than the server keeps (REALTIME_MAX_TRANSACTION_BYTES).'
        this.#options.onGap(recipients.subscribers(), message)
        continue
      }
      const time = new Date(Number(transaction.time / 1000n)).toISOString()
      for (const [index, change] of transaction.changes.entries()) {
        if (isOfMessages(change.relation)) continue
        placed.push({ change, commit: transaction.commit, index, time, sequence })
        if (placed.length < batchSize) continue
        await deliverPlaced()
        await nextTurn()
      }
    }
    await deliverPlaced()
  }

  async #deliverBatch(placed: readonly PlacedChange[], recipients: Recipients): Promise<void> {
    const { after } = recipients
    const ofRelations = new Map<
      LogRelation,
      { readonly audiences: Audience[]; places: number[]; changes: EvaluatedChange[] }
    >()
    for (const [place, { change, commit, index, time }] of placed.entries()) {
      const position = { commit, index }
      if (after && !isBefore(after, position)) continue
      let list = ofRelations.get(change.relation)
      if (!list) {
        list = { audiences: recipients.audiencesOf(change.relation), places: [], changes: [] }
        ofRelations.set(change.relation, list)
      }
      if (list.audiences.length === 0) continue
      list.places.push(place)
      list.changes.push({ change, time, position: positionText(position) })
    }
    const deliveries: (readonly Delivery[] | undefined)[] = []
    await Promise.all(
      [...ofRelations].map(async ([relation, { audiences, places, changes: evaluated }]) => {
        if (evaluated.length === 0) return
        const found = await evaluate(this.#options.tools, relation, evaluated, audiences)
        places.forEach((place, index) => (deliveries[place] = found[index]))
      }),
    )
    let handedOut = 0
    for (const [place, { sequence }] of placed.entries()) {
      const ofChange = deliveries[place]
      if (!ofChange) continue
      handedOut += this.#handOut(ofChange, recipients, sequence)
      if (handedOut < mostHandedOut) continue
      handedOut = 0
      await nextTurn()
    }
  }

  /** @returns how many subscribers have got an event */
  #handOut(deliveries: readonly Delivery[], { includes }: Recipients, sequence: number): number {
    const before = this.#events
    for (const { audience, event, bindings } of byEvent(deliveries)) {
      for (const subscriber of audience.subscribers) {
        if (subscriber.isEnded || !includes(subscriber, sequence)) continue
        this.#events++
        subscriber.receiver.onChange(event, bindings)
      }
    }
    return this.#events - before
  }
}

/** Brings deliveries of the same event together: receivers encode it once if they get it one after the other. */
function byEvent(deliveries: readonly Delivery[]): readonly Delivery[] {
  if (deliveries.length < 2) return deliveries
  const groups = new Map<Delivery['event'], Delivery[]>()
  for (const delivery of deliveries) {
    const group = groups.get(delivery.event)
    if (group) group.push(delivery)
    else groups.set(delivery.event, [delivery])
  }
  return [...groups.values()].flat()
}
