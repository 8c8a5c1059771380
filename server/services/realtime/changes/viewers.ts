// The viewers of subscriptions, and those for what does not depend on claims.
import { claimsText, lastingIdentity, type Identity } from '../../../identity/identity.ts'
import { CallerSettings, filterTime } from '../policies/row-check.ts'
import { Viewer, viewerKey } from './audience.ts'

export class Viewers {
  readonly #settings: CallerSettings
  readonly #filterSettings: CallerSettings
  readonly #viewers = new Map<string, Viewer>()
  readonly #ofRoles = new Map<string, Viewer>()
  readonly #ofFilters = new Map<string, Viewer>()

  constructor(checksSessions: () => boolean) {
    this.#settings = new CallerSettings(checksSessions)
    this.#filterSettings = new CallerSettings(checksSessions, [], filterTime)
  }

  /** The viewer of a subscription. Call `release` at its end. */
  take(identity: Identity): Viewer {
    const key = viewerKey(identity.role, claimsText(identity))
    let viewer = this.#viewers.get(key)
    if (!viewer) this.#viewers.set(key, (viewer = new Viewer(identity, this.#settings)))
    viewer.users++
    return viewer
  }

  release(viewer: Viewer): void {
    if (--viewer.users === 0) this.#viewers.delete(viewer.key)
  }

  /** A viewer with a role and no claims. */
  ofRole(role: string): Viewer {
    return viewerOf(role, this.#ofRoles, this.#settings)
  }

  /** The same for filters, which get little time. */
  ofFilters(role: string): Viewer {
    return viewerOf(role, this.#ofFilters, this.#filterSettings)
  }
}

function viewerOf(role: string, viewers: Map<string, Viewer>, settings: CallerSettings): Viewer {
  let viewer = viewers.get(role)
  if (!viewer) viewers.set(role, (viewer = new Viewer(lastingIdentity(role, {}), settings)))
  return viewer
}
