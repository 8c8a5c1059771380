// UUIDs in their usual notation. https://www.rfc-editor.org/rfc/rfc9562#section-4

/** In lower or upper case, without braces or the prefix `urn:uuid:`. */
export const uuidPattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** The UUID of nothing, as section 5.9 says. */
export const nilUuid = '00000000-0000-0000-0000-000000000000'

export const isUuid = (text: string): boolean => uuidPattern.test(text)
