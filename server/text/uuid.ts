// UUIDs in their usual notation. https://www.rfc-editor.org/rfc/rfc9562#section-4

/** In lower or upper case, without braces or the prefix `urn:uuid:`. */
export const uuidPattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => uuidPattern.test(text)
