// Rows as an agent gives them.

/** JSON, or its text, which keeps all digits of numbers. */
export type BodyArgument = string | Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[]

export const bodyText = (body: BodyArgument): string => (typeof body === 'string' ? body : JSON.stringify(body))
