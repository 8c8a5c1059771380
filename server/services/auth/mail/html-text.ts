// Conversions between HTML and plain text.

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
}
const characters: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/** The text as content of an HTML element or of a quoted attribute. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (it) => entities[it] ?? it)

const unescapeHtml = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return characters[name.toLowerCase()] ?? whole
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
    },
  )

/** A plain text version of the HTML of a mail: paragraphs are separated by empty lines, links followed by their URLs. */
export function htmlToText(html: string): string {
  const withoutTags = html
    .replace(/<!--.*?-->|<(style|script|head|title)\b.*?<\/\1\s*>/gis, '')
    .replace(/\s+/g, ' ')
    .replace(
      /<a\b[^>]*?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')[^>]*>(.*?)<\/a\s*>/gi,
      (_, double?: string, single?: string, text?: string) => {
        const url = double ?? single ?? ''
        return text === undefined || text.trim() === '' || text.trim() === url ? url : `${text.trim()}:<br>${url}`
      },
    )
    .replace(/ *<br\s*\/?> */gi, '\n')
    .replace(/ *<\/?(?:p|div|h[1-6]|ul|ol|table|tr|blockquote|hr|section|body|html)\b[^>]*> */gi, '\n\n')
    .replace(/<li\b[^>]*>/gi, '\n- ')
    .replace(/<[^>]*>/g, '')
  return `${unescapeHtml(withoutTags)
    .replace(/\n{3,}/g, '\n\n')
    .trim()}\n`
}
