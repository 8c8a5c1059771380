// Runs statements on a database, without knowing how it is connected.

/** Runs one statement and returns its rows. */
export type RunQuery = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>
