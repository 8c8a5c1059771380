// `copy … from stdin`, with rows that are in memory. pg itself refuses to send any.
import pg from 'pg'

type CopyConnection = {
  readonly sendCopyFromChunk: (chunk: Buffer) => void
  readonly endCopyFrom: () => void
}

/**
 * Runs a `copy … from stdin`.
 *
 * @param rows in the format of the statement, UTF-8
 * @throws the error of the database; a row that is wrong is named in its `where`
 */
export function copyIn(client: pg.Client, statement: string, rows: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const query = new pg.Query(statement, (error: Error | undefined) => (error ? reject(error) : resolve()))
    // A method that pg calls, and its types do not have.
    Object.assign(query, {
      handleCopyInResponse: (connection: CopyConnection) => {
        connection.sendCopyFromChunk(Buffer.from(rows))
        connection.endCopyFrom()
      },
    })
    client.query(query)
  })
}
