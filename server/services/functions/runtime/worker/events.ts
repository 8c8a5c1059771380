// Events of the global scope: `load`, `beforeunload`, `unload`, `unhandledrejection` and `error`.
import type { EndReason } from '../message.ts'

const target = new EventTarget()

/** Gives functions `addEventListener` and `self`. */
export function installEvents(): void {
  Object.assign(globalThis, {
    self: globalThis,
    addEventListener: target.addEventListener.bind(target),
    removeEventListener: target.removeEventListener.bind(target),
    dispatchEvent: target.dispatchEvent.bind(target),
  })
}

/** An event with a reason. */
class ReasonEvent extends Event {
  readonly detail: { readonly reason: EndReason }

  constructor(name: string, reason: EndReason) {
    super(name)
    this.detail = { reason }
  }
}

export const announceLoad = (): void => void target.dispatchEvent(new Event('load'))

/** Says that the worker ends. */
export function announceEnd(reason: EndReason): void {
  target.dispatchEvent(new ReasonEvent('beforeunload', reason))
  target.dispatchEvent(new Event('unload'))
}

/** Whether a listener deals with the error of a promise, by `preventDefault`. */
export const isRejectionHandled = (reason: unknown, promise: Promise<unknown>): boolean =>
  !target.dispatchEvent(Object.assign(new Event('unhandledrejection', { cancelable: true }), { reason, promise }))
