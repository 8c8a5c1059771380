/** Values of `If-None-Match` that match no response: the answer is that without the header, which PostgREST ignores. */
export const unknownTags = ['"x"', 'W/"x"', '"1/AAAAAAAAAAAAAAAA"', '"0"', '"x", W/"y"', '"', 'x', ','] as const
