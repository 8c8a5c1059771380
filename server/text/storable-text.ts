// Texts that PostgreSQL can store: without the character NUL and without halves of surrogate pairs.

const unstorable = /[\0\p{Cs}]/u

/** Whether PostgreSQL can store a text. */
export const isStorable = (text: string): boolean => !unstorable.test(text)

/** What is wrong with any other text. */
export const notStorable = 'must not contain NUL or incomplete characters'
