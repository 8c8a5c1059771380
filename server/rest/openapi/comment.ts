// Comments of database objects. The first line is the title.

export type TitledComment = { readonly summary: string | undefined; readonly description: string | undefined }

/** Splits a comment into its first line and the rest without leading line breaks. */
export function firstLine(comment: string | null): TitledComment {
  if (comment === null) return { summary: undefined, description: undefined }
  const end = comment.indexOf('\n')
  if (end < 0) return { summary: comment, description: '' }
  let start = end
  while (comment[start] === '\n') start++
  return { summary: comment.slice(0, end), description: comment.slice(start) }
}
