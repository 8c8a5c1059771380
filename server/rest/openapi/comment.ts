// Comments of database objects, whose first line is their title.

export type TitledComment = { readonly summary: string | undefined; readonly description: string | undefined }

/** The first line, and the rest without the blank lines it begins with; both undefined without a comment. */
export function firstLine(comment: string | null): TitledComment {
  if (comment === null) return { summary: undefined, description: undefined }
  const end = comment.indexOf('\n')
  if (end < 0) return { summary: comment, description: '' }
  let start = end
  while (comment[start] === '\n') start++
  return { summary: comment.slice(0, end), description: comment.slice(start) }
}
