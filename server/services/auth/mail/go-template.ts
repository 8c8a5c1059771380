/**
 * Templates of mails in Go's template language, as far as mails use it: `{{ .Field }}`, `{{ .Data.name }}`, `if`,
 * `else if`, `else`, `with`, `end`, comments, the trim markers `{{-` and `-}}`, pipes, strings, and the functions `and`,
 * `or`, `not`, `eq`, `ne`, `index`, `len`, `html` and `urlquery`. https://pkg.go.dev/text/template
 */
import { evaluate, isTrue, parseExpression, textOf, type Expression } from './go-expression.ts'
import { escapeHtml } from './html-text.ts'
import { TemplateError } from './template-error.ts'

/** How values are inserted: with HTML's special characters escaped, or as they are. */
export type TemplateFormat = 'html' | 'text'

type Block = { readonly kind: 'if' | 'with'; readonly branches: Branch[] }
type Branch = { readonly condition: Expression | undefined; readonly nodes: TemplateNode[] }
type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly expression: Expression; readonly isUrl: boolean }
  | Block

/** Action, text before it; the trim markers need a space towards the content. */
const action = /\{\{(-(?=\s))?((?:"(?:[^"\\\n]|\\.)*"|`[^`]*`|(?!\}\})[^"`])*?)((?<=\s)-)?\}\}/g
/** What precedes the value of an attribute that browsers follow. */
const urlAttribute = /\b(?:href|src|action|formaction|poster|background)\s*=\s*["']?\s*$/i
const unsafeUrl = /^\s*(?:javascript|vbscript|data)\s*:/i

export class GoTemplate {
  readonly #nodes: readonly TemplateNode[]

  /**
   * @param source The template.
   * @param variables Names of the fields that the template may use.
   * @throws {TemplateError} If the template is malformed, or uses another field or an unsupported function.
   */
  constructor(
    source: string,
    readonly format: TemplateFormat,
    variables: readonly string[],
  ) {
    this.#nodes = parse(source, new Set(variables))
  }

  /** @param values The fields. Absent and null values are rendered as nothing. */
  render(values: Readonly<Record<string, unknown>>): string {
    return this.#render(this.#nodes, values, values)
  }

  #render(nodes: readonly TemplateNode[], dot: unknown, root: unknown): string {
    return nodes.map((node) => this.#renderNode(node, dot, root)).join('')
  }

  #renderNode(node: TemplateNode, dot: unknown, root: unknown): string {
    if (node.kind === 'text') return node.text
    if (node.kind === 'value') {
      const text = textOf(evaluate(node.expression, dot, root))
      if (this.format === 'text') return text
      return escapeHtml(node.isUrl && unsafeUrl.test(text) ? '#' : text)
    }
    for (const { condition, nodes } of node.branches) {
      const value = condition === undefined ? true : evaluate(condition, dot, root)
      if (isTrue(value)) return this.#render(nodes, node.kind === 'with' && condition ? value : dot, root)
    }
    return ''
  }
}

function parse(source: string, variables: ReadonlySet<string>): readonly TemplateNode[] {
  const root: TemplateNode[] = []
  const blocks: Block[] = []
  let nodes = root
  let end = 0
  let trims = false
  const addText = (text: string): void => {
    if (text.includes('{{')) throw new TemplateError('an action "{{" is not closed')
    if (text !== '') nodes.push({ kind: 'text', text })
  }
  for (const match of source.matchAll(action)) {
    const [whole, leftTrim, content = '', rightTrim] = match
    let text = source.slice(end, match.index)
    if (trims) text = text.trimStart()
    if (leftTrim !== undefined) text = text.trimEnd()
    addText(text)
    end = match.index + whole.length
    trims = rightTrim !== undefined
    nodes = parseAction(content.trim(), { nodes, blocks, root, variables, isUrl: urlAttribute.test(text) })
  }
  const rest = source.slice(end)
  addText(trims ? rest.trimStart() : rest)
  const open = blocks.at(-1)
  if (open) throw new TemplateError(`"{{ ${open.kind} }}" has no "{{ end }}"`)
  return root
}

type ParseState = {
  readonly nodes: TemplateNode[]
  readonly blocks: Block[]
  readonly root: TemplateNode[]
  readonly variables: ReadonlySet<string>
  readonly isUrl: boolean
}

/** Adds the nodes of an action, and returns the list for the nodes that follow it. */
function parseAction(content: string, { nodes, blocks, root, variables, isUrl }: ParseState): TemplateNode[] {
  if (/^\/\*.*\*\/$/s.test(content)) return nodes
  const [, keyword = '', rest = ''] =
    /^(if|with|else|end|range|define|template|block|break|continue)\b(.*)$/s.exec(content) ?? []
  // Within `with`, a dot is another value, whose fields are unknown.
  const known = blocks.some(({ kind }) => kind === 'with') ? undefined : variables
  const expression = (text: string): Expression => parseExpression(text.trim(), known)
  if (keyword === '') {
    nodes.push({ kind: 'value', expression: expression(content), isUrl })
    return nodes
  }
  if (keyword === 'if' || keyword === 'with') {
    const branch: Branch = { condition: expression(rest), nodes: [] }
    const block: Block = { kind: keyword, branches: [branch] }
    nodes.push(block)
    blocks.push(block)
    return branch.nodes
  }
  const block = blocks.at(-1)
  if (keyword === 'else' && block) {
    if (block.branches.at(-1)?.condition === undefined) throw new TemplateError('"{{ else }}" is repeated')
    const [, condition] = /^\s+(?:if|with)\b(.*)$/s.exec(rest) ?? []
    if (condition === undefined && rest.trim() !== '') throw new TemplateError(`"{{ ${content} }}" is malformed`)
    const branch: Branch = { condition: condition === undefined ? undefined : expression(condition), nodes: [] }
    block.branches.push(branch)
    return branch.nodes
  }
  if (keyword === 'end' && block && rest.trim() === '') {
    blocks.pop()
    const outer = blocks.at(-1)
    return outer ? (outer.branches.at(-1)?.nodes ?? root) : root
  }
  if (keyword === 'else' || keyword === 'end') throw new TemplateError(`"{{ ${keyword} }}" is misplaced`)
  throw new TemplateError(`"{{ ${keyword} }}" is not supported`)
}
