// The imports of the source files, parsed by TypeScript.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const server = fileURLToPath(new URL('../../server', import.meta.url))

export type Import = {
  /** Path of the importing file relative to `server/`, with slashes. */
  readonly from: string
  /** Path of the imported file, or the name of a package: `pg`, `node:fs`. */
  readonly to: string
  readonly isPackage: boolean
  /** Whether only types are imported, so that the import is erased at compile time. */
  readonly isTypeOnly: boolean
}

export type SourceFile = {
  /** Path relative to `server/`, with slashes. */
  readonly path: string
  readonly imports: readonly Import[]
  /** Side effects of importing the file, and changes to process settings, as `name (line)`. */
  readonly effects: readonly string[]
  /** Weak maps outside of classes, as `name (line)`: what they keep for an object should be a field of it. */
  readonly simulatedFields: readonly string[]
}

/** Parses all files of `server/`, sorted by path. */
export function readSource(): readonly SourceFile[] {
  return readdirSync(server, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /\.tsx?$/.test(path))
    .sort()
    .map((path) => parseSource(path, readFileSync(join(server, path), 'utf8')))
}

/** Parses one file. @param path relative to `server/`, with slashes */
export function parseSource(path: string, text: string): SourceFile {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  return { path, imports: importsOf(path, file), effects: effectsOf(file), simulatedFields: simulatedFieldsOf(file) }
}

/** Functions of `node:fs` whose names end in `Sync` block the process. */
const synchronous = /^[a-z]\w*Sync$/
const processSettings: ReadonlySet<string> = new Set(['stackTraceLimit', 'setFlagsFromString'])

/**
 * Synchronous calls that run when a file is imported, and changes to process settings anywhere. Calls are not followed:
 * a function that reads a file and is called at the top level is not detected.
 */
function effectsOf(file: ts.SourceFile): string[] {
  const found: string[] = []
  const note = (name: string, node: ts.Node): void => {
    found.push(`${name} (line ${file.getLineAndCharacterOfPosition(node.getStart()).line + 1})`)
  }
  const visit = (node: ts.Node, isTopLevel: boolean): void => {
    if (ts.isImportDeclaration(node)) return
    if (ts.isIdentifier(node) && processSettings.has(node.text)) note(node.text, node)
    if (isTopLevel && ts.isCallExpression(node)) {
      const { expression } = node
      const name = ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText()
      if (synchronous.test(name)) note(name, node)
    }
    const inner = isTopLevel && !ts.isFunctionLike(node)
    ts.forEachChild(node, (child) => visit(child, inner))
  }
  visit(file, true)
  return found
}

/** A private field of a class may be a weak map: it ends with its object, and its owner can be read off. */
function simulatedFieldsOf(file: ts.SourceFile): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isClassLike(node)) return
    if (ts.isNewExpression(node) && node.expression.getText() === 'WeakMap') {
      found.push(`WeakMap (line ${file.getLineAndCharacterOfPosition(node.getStart()).line + 1})`)
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

function importsOf(path: string, file: ts.SourceFile): Import[] {
  const imports: Import[] = []
  const add = (specifier: ts.Node | undefined, isTypeOnly: boolean): void => {
    if (!specifier || !ts.isStringLiteralLike(specifier)) return
    const isPackage = !specifier.text.startsWith('.')
    const to = isPackage ? specifier.text : normalize(join(dirname(path), specifier.text)).replaceAll('\\', '/')
    imports.push({ from: path, to, isPackage, isTypeOnly })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, isTypeImport(node.importClause))
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, isTypeExport(node))
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false)
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return imports
}

/** `import type …`, or names that are all marked with `type`. A bare `import '…'` is for its side effects. */
function isTypeImport(clause: ts.ImportClause | undefined): boolean {
  if (!clause) return false
  if (clause.isTypeOnly) return true
  const { name, namedBindings: names } = clause
  return name === undefined && names !== undefined && ts.isNamedImports(names) && names.elements.every(isTypeName)
}

const isTypeExport = ({ isTypeOnly, exportClause: names }: ts.ExportDeclaration): boolean =>
  isTypeOnly || (names !== undefined && ts.isNamedExports(names) && names.elements.every(isTypeName))

const isTypeName = ({ isTypeOnly }: ts.ImportSpecifier | ts.ExportSpecifier): boolean => isTypeOnly
