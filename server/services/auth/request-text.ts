// Texts in requests.

/** Whether a member is missing, null or empty, which is the same in GoTrue. */
export const isEmpty = (text: string | null | undefined): text is null | undefined | '' =>
  text === undefined || text === null || text === ''

/** The text of a member; undefined if it is empty. */
export const given = (text: string | null | undefined): string | undefined => (isEmpty(text) ? undefined : text)
