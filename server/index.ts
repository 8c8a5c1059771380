// The package's entry point: the REST API as an object. `rowhouse/postgres` connects to its database, `rowhouse/node`
// and `rowhouse/fetch` mount it in a server.
export { createRest, type Rest } from './rest/engine.ts'
export type { SchemaEvent } from './rest/engine-event.ts'
export type { RestOptions, RestOptionSettings } from './rest/rest-options.ts'
export type { Identify, RestObservation } from './rest/handler.ts'
export { ApiError, type ErrorBody } from './rest/errors.ts'
export type { ImportEvent } from './rest/extensions/imports/import-progress.ts'
export type { RestRequest } from './rest/rest-request.ts'
export type { RestResponse } from './rest/response/result.ts'
export type { EngineDatabase, ChannelEvent } from './rest/database.ts'
export type { BodyProblem, BodyValidator, TableBodies } from './rest/validation.ts'
export type { Claims, Identity } from './identity/identity.ts'
