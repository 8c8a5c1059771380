// The port to whatever checks bodies before the database is asked.

export type BodyProblem = {
  /** JSON pointer (RFC 6901) into the body: `/0/confidence`; empty for the whole of it. */
  readonly pointer: string
  readonly message: string
}

export type TableBodies = {
  /**
   * Checks a row, or an array of rows, for INSERT: everything required must be there. No fault: valid. With `isText` all
   * values are texts (CSV, forms), to be checked as the types that they stand for; the rows are changed to these.
   */
  readonly validateInsert: (body: unknown, isText?: boolean) => readonly BodyProblem[]
  /** Checks the same for UPDATE: any subset of the properties will do. */
  readonly validateUpdate: (body: unknown, isText?: boolean) => readonly BodyProblem[]
}

export type BodyValidator = {
  /** Undefined for a table without a schema: Postgres alone guards it. */
  readonly forTable: (schema: string, table: string) => TableBodies | undefined
}
