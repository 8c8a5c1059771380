// The port to the validation of request bodies.

export type BodyProblem = {
  /** JSON pointer (RFC 6901) into the body: `/0/confidence`; empty for the whole body. */
  readonly pointer: string
  readonly message: string
}

export type TableBodies = {
  /**
   * Validates a row or an array of rows for INSERT: required properties must be present. Returns an empty array for a
   * valid body. With `isText`, all values are strings (CSV, forms) and are converted in place to the schema's types.
   */
  readonly validateInsert: (body: unknown, isText?: boolean) => readonly BodyProblem[]
  /** Validates rows for UPDATE, where any subset of the properties is valid. */
  readonly validateUpdate: (body: unknown, isText?: boolean) => readonly BodyProblem[]
}

export type BodyValidator = {
  /** Undefined for a table without a schema: only Postgres validates its rows. */
  readonly forTable: (schema: string, table: string) => TableBodies | undefined
}
