// Where in the body of a request the error is that it got.
import type { ClientError } from './rest-client.ts'

/** Keys may contain colons: `/customer:customers/name`. */
const pointer = /^(\/(?:[^:]|:(?! ))*)(?:: |$)/

/**
 * The place in the body that the error of a nested write is about.
 *
 * @param error of supabase-js
 * @returns a JSON pointer (RFC 6901) such as `/lines/3/price`; undefined if the error has none
 */
export const errorPath = ({ details }: Pick<ClientError, 'details'>): string | undefined =>
  pointer.exec(details ?? '')?.[1]
