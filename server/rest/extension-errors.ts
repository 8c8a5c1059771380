// Creates errors that PostgREST does not have: PGRSTX….
import { apiError } from './api-error.ts'

export const extensionErrors = {
  /** The response to an unexpected error. It reveals nothing about the error. */
  internal: (cause?: unknown) => apiError('PGRSTX00', 'Internal server error', { cause }),
  overloaded: () =>
    apiError('PGRSTX04', 'The server is overloaded', {
      details: 'Nothing was executed.',
      hint: 'Try again later.',
      headers: [['Retry-After', '1']],
    }),
  /** @param budget in bytes */
  bodyBudget: (budget: number) =>
    apiError('PGRSTX01', 'Too many large request bodies at the same time', {
      details: `The server holds ${budget} bytes of them at most (rest-body-budget).`,
      hint: 'Try again later, or send smaller requests.',
      headers: [['Retry-After', '1']],
    }),
  /** The effects of a request to be explained cannot be rolled back. */
  explainNotRun: () => apiError('PGRSTX02', 'The request was not run.'),
  /** @param mediaType of explanations, which the setting has turned off */
  explainOff: (mediaType: string) =>
    apiError('PGRST107', `None of these media types are available: ${mediaType}`, {
      details: 'Explanations of requests are off.',
      hint: 'Name the roles that may have them in the setting explain-roles (EXPLAIN_ROLES).',
    }),
  explainForbidden: (role: string) =>
    apiError('PGRSTX03', `The role ${role} may not have requests explained`, {
      hint: 'The setting explain-roles (EXPLAIN_ROLES) names the roles that may.',
    }),
  /** @param slots maximum number of imports at once */
  importSlots: (slots: number) =>
    apiError('PGRSTX70', 'Too many imports at the same time', {
      details: `The server runs ${slots} imports at most (rest-import-slots).`,
      hint: 'Try again later.',
      headers: [['Retry-After', '1']],
    }),
  /** @param share maximum number of imports of one user at once */
  importSlotsOfUser: (share: number, slots: number) =>
    apiError('PGRSTX70', 'Too many imports of this user at the same time', {
      status: 429,
      details: `One user runs ${share} of the server's ${slots} imports at most (rest-import-slots).`,
      hint: 'Try again when another import has ended.',
      headers: [['Retry-After', '1']],
    }),
  /** @param patience in milliseconds */
  importStalled: (patience: number) =>
    apiError('PGRSTX76', 'The body of the import arrives too slowly while other imports wait', {
      details: `The server waited more than ${patience / 1000} seconds for 64 KiB of it.`,
      hint: 'Nothing was imported. Send the body without pauses, or try again later.',
      headers: [
        ['Retry-After', '1'],
        ['Connection', 'close'],
      ],
    }),
  /** @param limit in bytes */
  importRepresentation: (limit: number) =>
    apiError('PGRSTX71', 'The body is too large for return=representation', {
      details: `The rows of a body of up to ${limit} bytes (rest-body-limit) can be returned.`,
      hint: 'Use return=minimal or return=headers-only, or send several smaller bodies.',
      headers: [['Connection', 'close']],
    }),
  /** @param limit in bytes */
  importRow: (limit: number, line: number) =>
    apiError('PGRSTX72', 'A row of the body is too large', {
      details: `The limit is ${limit} bytes (rest-body-limit).`,
      headers: [['Connection', 'close']],
      line,
    }),
  importKey: () =>
    apiError('PGRSTX74', 'An import cannot have an Idempotency-Key', {
      details: 'The key is stored with a digest of the whole body, which an import reads only while it writes.',
      hint: 'Use resolution=ignore-duplicates or resolution=merge-duplicates, so that the import may be repeated.',
      headers: [['Connection', 'close']],
    }),
  importEncoding: (encoding: string) =>
    apiError('PGRSTX75', 'The body of an import must not be compressed', {
      details: `Its Content-Encoding is ${encoding}.`,
      headers: [
        ['Accept-Encoding', 'identity'],
        ['Connection', 'close'],
      ],
    }),
  /** The login role of the server may not create temporary tables. */
  importPrivilege: (cause: unknown) =>
    apiError('PGRSTX73', 'The server cannot import', {
      details: 'Its login role lacks the privilege TEMPORARY on the database.',
      hint: 'Grant it: grant temporary on database … to …',
      cause,
    }),
  columnsChanged: () =>
    apiError('PGRSTX34', 'The columns that the role may read have changed while the request was planned', {
      hint: 'Try again, or select columns by their names.',
      headers: [['Retry-After', '1']],
    }),
  idempotencyKey: (value: string, longest: number) =>
    apiError('PGRSTX90', `Invalid Idempotency-Key: ${value}`, {
      details: `A key has 1 to ${longest} ASCII characters, in double quotes or without spaces, quotes, commas and semicolons.`,
    }),
  otherIdempotentRequest: (key: string) =>
    apiError('PGRSTX91', `The Idempotency-Key "${key}" was used for another request`, {
      hint: 'Send a new key with each new request, and the same key only to repeat a request unchanged.',
    }),
  idempotentRequestRunning: (key: string) =>
    apiError('PGRSTX92', `A request with the Idempotency-Key "${key}" is still running`, {
      hint: 'Repeat the request later to get its response.',
      headers: [['Retry-After', '1']],
    }),
  /** @param bytes size of the body, `limit` the greatest that is kept */
  idempotentResponseTooLarge: (key: string, status: number, bytes: number, limit: number) =>
    apiError('PGRSTX93', `The response to the request with the Idempotency-Key "${key}" was too large to be kept`, {
      details: `The request has taken effect once, with status ${status}. Its response had ${bytes} bytes; up to ${limit} are kept (idempotency-max-bytes).`,
      hint: 'Read what was written, and send Prefer: return=minimal with such requests.',
    }),
  tooManyIdempotencyKeys: (most: number) =>
    apiError('PGRSTX94', 'Too many requests with an Idempotency-Key', {
      details: `A caller may use ${most} keys in 24 hours (idempotency-max-keys). Nothing was executed.`,
      hint: 'Try again later, or send the request without a key.',
      headers: [['Retry-After', '3600']],
    }),
  /** @param what the column or expression, `type` its type */
  notComparable: (what: string, type: string) =>
    apiError('PGRSTX31', `Values of '${what}' cannot be compared, because the type ${type} has no equality operator`, {
      hint: `Cast it to a type that has one, as in ${what}::${type.startsWith('json') ? 'jsonb' : 'text'}.`,
    }),
  /** @param parameter as the client wrote it */
  groupingOfWrite: (parameter: 'distinct' | 'having') =>
    apiError('PGRSTX32', `The parameter '${parameter}' cannot be applied to the rows of a write`, {
      hint: `Use it when reading, or for an embed of the representation, as in embed.${parameter}=….`,
    }),
  /** @param embed name of the spread in the request */
  havingOfSpread: (embed: string) =>
    apiError('PGRSTX33', `The parameter 'having' cannot be applied to the spread embed '${embed}'`, {
      hint: `Embed it without '...', or use 'having' of the relation that it is embedded in.`,
    }),
  /**
   * @param subject whose limit it is, such as `the role anon`
   * @param seconds until it may succeed; null: never, because more requests come at once than the limit allows
   */
  tooManyRequests: (subject: string, limit: { perSecond: number; burst: number }, seconds: number | null) =>
    apiError('PGRSTX80', `Too many requests of ${subject}`, {
      details: `The limit is ${limit.perSecond} requests per second, and ${limit.burst} at once.`,
      hint: seconds === null ? `Send at most ${limit.burst} at once.` : `Try again in ${seconds} s.`,
      headers: seconds === null ? [] : [['Retry-After', String(seconds)]],
    }),
  /** @param cost the planner's estimate */
  costTooHigh: (cost: number, limit: number) =>
    apiError('PGRSTX81', `The request is too expensive: its estimated cost is ${cost}, and the limit is ${limit}`, {
      details: "The cost is the planner's estimate for all statements of the request, in its arbitrary unit.",
      hint: 'Filter by indexed columns, request fewer rows or embeds, or omit count=exact.',
    }),
  /** @param path the names of the embeds, from the outermost to the first that is too deep */
  embedTooDeep: (path: readonly string[], limit: number) =>
    apiError('PGRSTX82', `The embed '${path.join('.')}' is too deep: the limit is ${limit}`, {
      details: `Its depth is ${path.length}. Embeds of the requested resource itself have depth 1.`,
    }),
  /** @param columns number of columns that spreads pass on */
  tooManySpreadColumns: (columns: number, limit: number) =>
    apiError('PGRSTX83', `The spreads pass on ${columns} columns, and the limit is ${limit}`, {
      details: 'A column counts for each spread that it passes through.',
      hint: 'Select fewer columns, or use fewer spreads inside each other.',
    }),
  tooManyEmbeds: (count: number, limit: number) =>
    apiError('PGRSTX84', `The request has ${count} embeds, and the limit is ${limit}`, {
      hint: 'Use several requests, or a view.',
    }),
  /** @param expected the condition that the row does not satisfy */
  preconditionFailed: (expected: 'version' | 'exists' | 'absent') =>
    apiError(
      'PGRSTX50',
      expected === 'absent' ? 'The row already exists' : 'The row does not have the version in If-Match',
      {
        details:
          expected === 'absent'
            ? 'If-None-Match: * allows creating a row only.'
            : expected === 'exists'
              ? 'No visible row matches.'
              : 'It has changed since, or the entity tag is weak or that of a list.',
        hint: expected === 'version' ? 'Read the row again, and send the ETag of that response.' : null,
      },
    ),
  malformedIfMatch: (value: string) =>
    apiError('PGRSTX51', `If-Match is not a list of entity tags: ${value}`, {
      hint: 'Send the ETag of an earlier response with its double quotes, or an asterisk.',
    }),
  severalRowsMatch: () =>
    apiError('PGRSTX52', 'If-Match is for one row, but the filters match several', {
      hint: 'Filter by the primary key.',
    }),
  /** @param column the setting `db-version-column` */
  noRowVersion: (relation: string, column: string | null) =>
    apiError('PGRSTX53', `The rows of '${relation}' have no version to compare with If-Match`, {
      details:
        column === null
          ? 'Views and foreign tables need a version column (db-version-column).'
          : `It has no column '${column}' (db-version-column).`,
    }),
  unsupportedCondition: (header: 'If-Match' | 'If-None-Match', value: string, method: string) =>
    apiError('PGRSTX54', `${method} does not support ${header}: ${value}`, {
      hint: 'Use If-Match with PATCH, PUT and DELETE, If-None-Match with GET and HEAD, and If-None-Match: * with PUT.',
    }),
  tooManyExports: (limit: number) =>
    apiError('PGRSTX60', 'Too many large responses are being streamed at the same time', {
      details: `The server streams ${limit} at once (rest-export-limit).`,
      hint: 'Try again later, or request fewer rows with limit.',
      headers: [['Retry-After', '1']],
    }),
}
