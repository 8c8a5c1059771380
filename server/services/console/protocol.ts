// What the console's page and its routes below `/console/api` exchange. The page imports these types, too, so this file
// imports nothing.

/** `GET /console/api/session` */
export type ConsoleSession = {
  /** Who signed in: `development`, `the secret key`, or the address of an account. */
  readonly actor: string
  /** Value of the header `X-Console-Token` of all other requests. */
  readonly token: string
  /** Whether files of the project can be written and the owner of the database can be chosen: an embedded database. */
  readonly isDevelopment: boolean
  readonly version: string
  readonly services: readonly string[]
  /** Mount path of the REST API: `/rest/v1` or `/`. */
  readonly restPath: string
  /** Mount path of the image analysis; null without it. */
  readonly analysisPath: string | null
  /** Whether there is the mailbox of the development mode. */
  readonly hasMailbox: boolean
  /** Roles that the console may look as, without the server's own. */
  readonly roles: readonly string[]
  /** The role of requests without credentials; null if such requests are refused. */
  readonly anonymousRole: string | null
}

/** Body of `POST /console/api/session`: one of them. */
export type ConsoleSignIn = {
  /** The code of a printed link. */
  readonly code?: string
  /** An API key of the role `service_role`. */
  readonly key?: string
  /** An access token of `/auth/v1` of an account with the app_role `admin`. */
  readonly access_token?: string
}

/** Body of `POST /console/api/tokens`: as whom requests are sent. */
export type TokenRequest = { readonly role: string } | { readonly user: string }

/** A token for `Authorization: Bearer`, of which nothing is stored. */
export type ViewerToken = {
  readonly token: string
  /** Seconds since 1970. */
  readonly expires_at: number
}

/** Body of `POST /console/api/changes`: a request that the page is about to send to another service. */
export type ChangeNote = {
  readonly method: string
  /** With the query string, which says which rows. */
  readonly path: string
  readonly as: TokenRequest
}

/** `GET /console/api/overview` */
export type Overview = {
  /** The keys of the development mode; null where keys are only stored as hashes. */
  readonly keys: { readonly publishable: string; readonly secret: string; readonly user: string } | null
  /** Connection string without its password; null for an own database. */
  readonly database: string | null
  readonly tables: number
  readonly users: number | null
  readonly policies: number
  /** Files of policy tests in the project. */
  readonly policyTests: number
}

/** `GET /console/api/users?ids=…` has one for each user with an app_role. */
export type UserAppRole = { readonly id: string; readonly app_role: string }

/** `GET /console/api/users/{id}` */
export type UserDetails = {
  readonly app_role: string | null
  /** Those that have not ended, newest first. */
  readonly sessions: readonly {
    readonly id: string
    /** Times are texts in the response. */
    readonly createdAt: Date | string
    readonly refreshedAt: Date | string | null
    readonly expiresAt: Date | string | null
    readonly hasCookie: boolean
    readonly userAgent: string | null
    /** The passkey by which the session began; its name is null once it was deleted. */
    readonly passkey: { readonly id: string; readonly name: string | null } | null
  }[]
}

/** Body of `PUT /console/api/users/{id}/app-role` */
export type AppRoleRequest = { readonly app_role: string | null }
