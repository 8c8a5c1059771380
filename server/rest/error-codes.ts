// The error codes of `/rest/v1`, each declared once: PostgREST's (PGRST…) and those that PostgREST does not have (PGRSTX…).
// The functions that create the errors are in `errors.ts` and the files it names. `npm run docs:errors` generates
// `errors.md` from this table.

export type ErrorCodeEntry = {
  /** HTTP statuses. The first one is the default. */
  readonly status: readonly [number, ...number[]]
  /** When the error occurs. */
  readonly cause: string
  /** What the client, or the operator, can do. */
  readonly remedy: string
}

/** Retired codes of PostgREST that must not be reused: PGRST104, PGRST109, PGRST110, PGRST113, PGRST119. */
export const errorCodes = {
  // PGRST0xx: the connection to the database
  PGRST000: {
    status: [503],
    cause: 'The server cannot connect to the database.',
    remedy: 'Try again later. Check db-uri, and that PostgreSQL is running and reachable: rowhouse doctor.',
  },
  PGRST001: {
    status: [503],
    cause: 'The connection to the database was lost during the request. A write may have taken effect.',
    remedy: 'Repeat a read. Repeat a write only if it may run twice, or with an Idempotency-Key.',
  },
  PGRST002: {
    status: [503],
    cause: 'The server has not yet read the schema of the database, or cannot read it.',
    remedy: 'Try again later. If it stays, the log has the error of the database.',
  },
  PGRST003: {
    status: [504],
    cause: 'No connection of the pool became free within db-pool-acquisition-timeout.',
    remedy: 'Try again later. Look for slow statements before increasing db-pool.',
  },

  // PGRST1xx: the request
  PGRST100: {
    status: [400],
    cause: 'The query string is not valid. The message has the position, the details what was expected there.',
    remedy: 'Correct the parameter. Values with commas, parentheses or quotes need double quotes in lists.',
  },
  PGRST101: {
    status: [405],
    cause: 'A function was called with another method than GET, HEAD and POST.',
    remedy: 'Use POST, or GET for functions that do not write.',
  },
  PGRST102: {
    status: [400, 413, 415],
    cause:
      'The body is not valid: not JSON or CSV of the required form (400), too large (413), or of an unsupported media type (415 for tables with a JSON Schema).',
    remedy: 'Correct the body as message and details say. Send fewer rows per request, or import them as NDJSON.',
  },
  PGRST103: {
    status: [416],
    cause: 'The requested range is empty, inverted, or begins after the last row.',
    remedy: 'Request a range within the rows. Content-Range has their number with Prefer: count=exact.',
  },
  PGRST105: {
    status: [405],
    cause: 'A PUT has other filters than equality of exactly the columns of the primary key.',
    remedy: 'Filter by each column of the primary key with eq, or use POST with Prefer: resolution=merge-duplicates.',
  },
  PGRST106: {
    status: [406],
    cause: 'Accept-Profile or Content-Profile names a schema that is not exposed.',
    remedy: 'Use one of the schemas in the hint, or add the schema to db-schemas.',
  },
  PGRST107: {
    status: [406],
    cause: 'The response is not available in any of the media types that Accept lists.',
    remedy: 'Accept application/json or text/csv, or create a media type handler in the database.',
  },
  PGRST108: {
    status: [400],
    cause: 'A filter, order or limit refers to an embed that select does not have.',
    remedy: 'Add the embed to select, and refer to it by its alias if it has one.',
  },
  PGRST111: {
    status: [500],
    cause: 'A function or trigger has set response.headers to something else than a JSON array of single headers.',
    remedy: `Set it to JSON such as [{"Cache-Control": "no-store"}], with valid header names and values.`,
  },
  PGRST112: {
    status: [500],
    cause: 'A function or trigger has set response.status to something else than an HTTP status.',
    remedy: 'Set it to an integer between 200 and 999.',
  },
  PGRST114: {
    status: [400],
    cause: 'A PUT has limit or offset.',
    remedy: 'Leave them out: PUT writes exactly one row.',
  },
  PGRST115: {
    status: [400],
    cause: 'The primary key in the body of a PUT differs from that in the URL.',
    remedy: 'Send the same values in both.',
  },
  PGRST116: {
    status: [406, 404],
    cause: 'A single object was requested, but the result has no or several rows. 404: no visible row has the key.',
    remedy: 'Filter by a unique column. Use maybeSingle() of supabase-js, or accept a list, if there may be no row.',
  },
  PGRST117: {
    status: [405],
    cause: 'The path does not support the method.',
    remedy: 'Use a method that the header Allow of an OPTIONS request lists.',
  },
  PGRST118: {
    status: [400],
    cause: 'Rows are to be ordered by a column of an embed that may have several rows for each of them.',
    remedy: 'Order by embeds that have at most one row, or create a view or computed column to order by.',
  },
  PGRST120: {
    status: [400],
    cause: 'An embed is filtered by another condition than being null.',
    remedy: 'Filter the embed itself by is.null or not.is.null, and its columns as in embed.column=eq.1.',
  },
  PGRST121: {
    status: [500],
    cause: "A function has raised SQLSTATE 'PGRST', but its message or detail is not the required JSON.",
    remedy: 'Raise it with JSON in both: message with code and message, detail with status and headers.',
  },
  PGRST122: {
    status: [400],
    cause: 'With Prefer: handling=strict, a preference is unknown or cannot be applied.',
    remedy: 'Leave out the preferences that the details list, or use handling=lenient.',
  },
  PGRST123: {
    status: [400],
    cause: 'select has an aggregate function, and aggregates are disabled.',
    remedy: 'Enable them with db-aggregates-enabled, or create a view with the aggregate.',
  },
  PGRST124: {
    status: [400],
    cause: 'A write would affect more rows than Prefer: max-affected allows. Nothing was written.',
    remedy: 'Use a narrower filter, or a greater max-affected.',
  },
  PGRST125: {
    status: [404],
    cause: 'The path is neither that of a table, a row by its key, a function nor the root.',
    remedy: 'Use /{table}, /{table}/{id} or /rpc/{function}. Schemas are chosen by Accept-Profile, not in the path.',
  },
  PGRST126: {
    status: [404],
    cause: 'The root with the OpenAPI document is disabled (openapi-mode).',
    remedy: 'Set openapi-mode to follow-privileges if clients need the document.',
  },
  PGRST127: {
    status: [400],
    cause: 'The request is valid, but asks for something that is not implemented. The details name it.',
    remedy: 'Rewrite the request without it, or use a view or function.',
  },
  PGRST128: {
    status: [400],
    cause: 'Prefer: max-affected was used with a function that does not return a set.',
    remedy: 'Declare the function as returns setof or returns table, or leave out the preference.',
  },

  // PGRST2xx: the schema cache
  PGRST200: {
    status: [400],
    cause: 'An embed has no foreign key, or computed relationship, to the relation that it is embedded in.',
    remedy: "Check the names in select. Create the foreign key, then reload: notify pgrst, 'reload schema'.",
  },
  PGRST201: {
    status: [300],
    cause: 'Several relationships lead to the embed. The details list them.',
    remedy: 'Name one in select, as the hint shows: by its foreign key or column, as in embed!column(*).',
  },
  PGRST202: {
    status: [404],
    cause: 'No exposed function has the name with these parameters.',
    remedy: "Check the names of the arguments. After creating it, reload: notify pgrst, 'reload schema'.",
  },
  PGRST203: {
    status: [300],
    cause: 'Several functions with the name accept the arguments.',
    remedy: 'Give the overloads different names or parameters, or remove one.',
  },
  PGRST204: {
    status: [400],
    cause: 'The body, or the parameter columns, names a column that the relation does not have.',
    remedy: "Check the name. After adding the column, reload: notify pgrst, 'reload schema'.",
  },
  PGRST205: {
    status: [404],
    cause: 'The exposed schema has no such table or view.',
    remedy:
      "Check name and schema; the hint has a similar name. After creating it, reload: notify pgrst, 'reload schema'.",
  },

  // PGRST3xx: authentication
  PGRST300: {
    status: [500],
    cause: 'A token was sent, and the server has no key to verify it.',
    remedy: 'Set jwt-secret.',
  },
  PGRST301: {
    status: [401],
    cause: 'The token cannot be decoded, or its signature is not valid.',
    remedy: 'Sign in again. Check that the issuer signs with the key in jwt-secret.',
  },
  PGRST302: {
    status: [401],
    cause: 'The request has no credentials, and anonymous access is disabled.',
    remedy: 'Send Authorization: Bearer with a token, or set db-anon-role.',
  },
  PGRST303: {
    status: [401],
    cause: 'The token is signed correctly, but has expired, is for another audience, or its session has ended.',
    remedy: 'Refresh the token or sign in again. Check the clock of the issuer, and jwt-aud.',
  },

  // PGRSTX0x: the server
  PGRSTX00: {
    status: [500],
    cause: 'An unexpected error of the server.',
    remedy: 'The log has the error. Please report it.',
  },
  PGRSTX01: {
    status: [503],
    cause: 'The server holds as many bytes of large request bodies as rest-body-budget allows.',
    remedy: 'Try again after Retry-After, or send smaller requests.',
  },
  PGRSTX02: {
    status: [409],
    cause: 'A request to be explained was not run, because an effect of it could not be rolled back.',
    remedy: 'See the effects in the explanation. Explain it against a copy of the database.',
  },
  PGRSTX03: {
    status: [403],
    cause: 'The role of the caller may not have requests explained.',
    remedy: 'Add the role to explain-roles.',
  },
  PGRSTX04: {
    status: [503],
    cause: 'The server is overloaded. Nothing was executed.',
    remedy: 'Try again after Retry-After.',
  },
  PGRSTX05: {
    status: [499],
    cause: 'The client closed the connection before the response. Never sent: in the log and the metrics only.',
    remedy: 'None needed. Many of them mean that clients have shorter timeouts than their requests need.',
  },

  // PGRSTX1x: batches
  PGRSTX10: {
    status: [400],
    cause: 'The body of a batch does not have the required form. The details name the place.',
    remedy: 'Correct it as the details say.',
  },
  PGRSTX11: {
    status: [413, 431],
    cause:
      'A batch has too many requests or values, or its references or responses are too large. 431: one of its urls.',
    remedy:
      'Send several batches, request fewer rows, or prefer return=minimal. See batch-max-requests, batch-max-bytes.',
  },
  PGRSTX12: {
    status: [400],
    cause: 'A reference of a batch has no value in the earlier response, or stands where its value cannot.',
    remedy: 'Check the JSON pointer against the response of the earlier request.',
  },
  PGRSTX13: {
    status: [500],
    cause: 'A request of a batch was not successful: SQL has set the status of an error, or its response is not JSON.',
    remedy: 'Send the request by itself to see its response. The status is the one that SQL has set.',
  },
  PGRSTX14: {
    status: [400],
    cause:
      'A function of a batch needs a higher isolation level, which was known only after the transaction had begun.',
    remedy: 'Write the path and the names of the arguments without references.',
  },

  // PGRSTX2x: nested writes
  PGRSTX20: {
    status: [400],
    cause: 'A key of the body that names a relationship has a value of the wrong kind.',
    remedy: 'Send an array of objects for relationships to many, an object or null for those to one.',
  },
  PGRSTX21: {
    status: [400],
    cause: 'A request other than POST has related rows in its body.',
    remedy: 'Use POST; with Prefer: resolution=merge-duplicates it also updates.',
  },
  PGRSTX22: {
    status: [400],
    cause: 'A key of the body names a computed relationship, which has no columns to write.',
    remedy: 'Write the related rows with a request of their own.',
  },
  PGRSTX23: {
    status: [400],
    cause: 'A foreign key is set twice: by a column and a relationship, or by two relationships.',
    remedy: 'Leave out one of them.',
  },
  PGRSTX24: {
    status: [400, 413],
    cause: 'The body with related rows is too deep, too large, or has too many rows or kinds of rows.',
    remedy: 'Write the rows of each table with a request of its own.',
  },
  PGRSTX25: {
    status: [409],
    cause:
      'The written rows cannot be matched with the body: a trigger changed or left out some, or they are not visible.',
    remedy: 'Write the tables with separate requests, or change trigger or policy.',
  },
  PGRSTX26: {
    status: [400],
    cause: 'The representation of a nested write is not possible: a table has no primary key, or a plan was requested.',
    remedy: 'Use Prefer: return=minimal, or add a primary key.',
  },

  // PGRSTX3x: distinct, having, readable columns
  PGRSTX31: {
    status: [400],
    cause: 'distinct or having needs to compare values of a type without equality operator, such as json.',
    remedy: 'Cast the column, as in data::jsonb.',
  },
  PGRSTX32: {
    status: [400],
    cause: 'distinct or having was applied to the rows of a write.',
    remedy: 'Use it when reading, or for an embed of the representation.',
  },
  PGRSTX33: {
    status: [400],
    cause: 'having was applied to a spread embed.',
    remedy: 'Embed without spreading, or use having of the relation that it is embedded in.',
  },
  PGRSTX34: {
    status: [503],
    cause: 'The columns that the role may read have changed while the request was planned.',
    remedy: 'Try again, or select columns by their names.',
  },

  // PGRSTX4x: keyset pages
  PGRSTX40: {
    status: [400],
    cause: 'The relation has no known key, so its rows have no total order.',
    remedy: 'Order by columns that together are unique.',
  },
  PGRSTX41: {
    status: [400],
    cause: 'The cursor was not created by this server, is incomplete, or is older than a change of the key.',
    remedy: 'Use the links of a response as they are; begin with the first page.',
  },
  PGRSTX42: {
    status: [400],
    cause: 'The cursor belongs to a request with another path, select, filter or order.',
    remedy: 'Change only limit between pages.',
  },
  PGRSTX43: {
    status: [400],
    cause: 'A keyset page was requested with offset, Range or limit=0.',
    remedy: 'Use limit for the size of a page, and follow its links.',
  },
  PGRSTX44: {
    status: [400],
    cause: 'Keyset pages of this are not possible: groups, distinct rows, volatile functions.',
    remedy: 'Leave out what the message names, or declare the function stable.',
  },
  PGRSTX45: {
    status: [400],
    cause: 'The last row of the page and the next are equal in all columns of the order, so a link would skip rows.',
    remedy: 'Order by more columns.',
  },
  PGRSTX46: {
    status: [400],
    cause: 'The values to order by are too long for a link.',
    remedy: 'Order by shorter columns.',
  },

  // PGRSTX5x: conditional requests
  PGRSTX50: {
    status: [412],
    cause: 'The row has changed since the version in If-Match, does not exist, or exists despite If-None-Match: *.',
    remedy: 'Read the row again, and repeat the write with the new ETag.',
  },
  PGRSTX51: {
    status: [400],
    cause: 'If-Match is not a list of entity tags.',
    remedy: 'Send the ETag of an earlier response with its double quotes, or an asterisk.',
  },
  PGRSTX52: {
    status: [400],
    cause: 'A request with If-Match has filters that match several rows.',
    remedy: 'Filter by the primary key.',
  },
  PGRSTX53: {
    status: [400],
    cause: 'The rows have no version to compare: a view or foreign table, or a table without the version column.',
    remedy: 'Add the column that db-version-column names.',
  },
  PGRSTX54: {
    status: [400],
    cause: 'The method does not support this condition.',
    remedy: 'Use If-Match with PATCH, PUT, DELETE; If-None-Match with GET, HEAD; If-None-Match: * with PUT.',
  },

  // PGRSTX6x: exports
  PGRSTX60: {
    status: [503],
    cause: 'As many large responses are being streamed as rest-export-limit allows.',
    remedy: 'Try again after Retry-After, or request fewer rows.',
  },

  // PGRSTX7x: imports
  PGRSTX70: {
    status: [503, 429],
    cause: 'As many imports are running as rest-import-slots allows; 429: half of them are of this user.',
    remedy: 'Try again after Retry-After, or when another import has ended.',
  },
  PGRSTX71: {
    status: [413],
    cause: 'The body of an import is too large for Prefer: return=representation.',
    remedy: 'Use return=minimal or return=headers-only, or send several smaller bodies.',
  },
  PGRSTX72: {
    status: [413],
    cause: 'A row of an import is larger than rest-body-limit. The member line names it.',
    remedy: 'Write this row with smaller values, or increase rest-body-limit.',
  },
  PGRSTX73: {
    status: [500],
    cause: 'The login role of the server may not create temporary tables, which imports need.',
    remedy: 'Execute: grant temporary on database … to the role.',
  },
  PGRSTX74: {
    status: [400],
    cause: 'An import has an Idempotency-Key.',
    remedy: 'Use resolution=ignore-duplicates or merge-duplicates, so that the import may be repeated.',
  },
  PGRSTX75: {
    status: [415],
    cause: 'The body of an import is compressed.',
    remedy: 'Send it without Content-Encoding.',
  },
  PGRSTX76: {
    status: [408],
    cause: 'The body of an import arrived too slowly while another import waited. Nothing was imported.',
    remedy: 'Send the body without pauses, or try again later.',
  },

  // PGRSTX8x: limits
  PGRSTX80: {
    status: [429],
    cause: 'The role, user or API key has sent more requests than its limit allows.',
    remedy: 'Wait for the seconds in Retry-After. Without it, send fewer requests at once.',
  },
  PGRSTX81: {
    status: [403],
    cause: "The planner's estimated cost of the request is above the limit.",
    remedy: 'Filter by indexed columns, request fewer rows or embeds, omit count=exact.',
  },
  PGRSTX82: {
    status: [403],
    cause: 'An embed is deeper than the limit for the role allows (db-max-embed-depth).',
    remedy: 'Use several requests, or a view.',
  },
  PGRSTX83: {
    status: [400],
    cause: 'Spread embeds pass on too many columns.',
    remedy: 'Select fewer columns, or use fewer spreads inside each other.',
  },
  PGRSTX84: {
    status: [400],
    cause: 'The request has too many embeds.',
    remedy: 'Use several requests, or a view.',
  },

  // PGRSTX9x: Idempotency-Key
  PGRSTX90: {
    status: [400],
    cause: 'The Idempotency-Key is not valid.',
    remedy: 'Use a new UUID for each request.',
  },
  PGRSTX91: {
    status: [422],
    cause: 'The Idempotency-Key was used for another request.',
    remedy: 'Use the same key only to repeat a request unchanged.',
  },
  PGRSTX92: {
    status: [409],
    cause: 'A request with the Idempotency-Key is still running.',
    remedy: 'Repeat the request after Retry-After to get its response.',
  },
  PGRSTX93: {
    status: [410],
    cause: 'The request has taken effect, but its response was too large to be kept (idempotency-max-bytes).',
    remedy: 'Read what was written. Send Prefer: return=minimal with such requests.',
  },
  PGRSTX94: {
    status: [429],
    cause: 'The caller has used idempotency-max-keys keys in 24 hours. Nothing was executed.',
    remedy: 'Try again later, or send the request without a key.',
  },
} as const satisfies Readonly<Record<string, ErrorCodeEntry>>

/** A code of the table. Errors of the database have the codes of PostgreSQL, see `sql-errors.ts`. */
export type ErrorCode = keyof typeof errorCodes

/** The statuses of a code. */
export type StatusOf<Code extends ErrorCode> = (typeof errorCodes)[Code]['status'][number]
