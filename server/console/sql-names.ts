// Names and texts in SQL that a page proposes.

export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

export const identifier = (text: string): string => `"${text.replaceAll('"', '""')}"`
