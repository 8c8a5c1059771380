// Checks the types of all sources and lints them: `npm run check:sources`, with paths only those are linted. What `npm run
// typecheck` and `npx eslint .` find, in one process: each of the two reads all sources and works out their types, and two
// projects have most files in common.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ESLint } from 'eslint'
import ts from 'typescript'

const root = fileURLToPath(new URL('../', import.meta.url))

/** The projects of `npm run typecheck`. */
const projects = ['tsconfig.json', 'server/console/tsconfig.json', 'tests/browser/tsconfig.json']

type Sources = Map<string, ts.SourceFile | undefined>

/** What programs with the same options have read and checked. */
type Shared = { readonly sources: Sources; readonly checked: Set<ts.SourceFile> }

const sharedByOptions = new Map<string, Shared>()

function sharedOf(options: ts.CompilerOptions): Shared {
  const key = JSON.stringify({ ...options, configFilePath: undefined })
  const shared = sharedByOptions.get(key) ?? { sources: new Map(), checked: new Set() }
  sharedByOptions.set(key, shared)
  return shared
}

type Project = { readonly program: ts.Program; readonly checked: Set<ts.SourceFile> }

function readProject(path: string): Project {
  const config = ts.getParsedCommandLineOfConfigFile(
    path,
    { noEmit: true },
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
        throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'))
      },
    },
  )
  if (config === undefined) throw new Error(`${path} cannot be read`)
  const { options, fileNames, errors } = config
  const { sources, checked } = sharedOf(options)
  const host = ts.createCompilerHost(options, true)
  const read = host.getSourceFile.bind(host)
  host.getSourceFile = (file, languageVersion, ...rest) => {
    // A module's format depends on the package that it is in, not on the project.
    const found = sources.has(file) ? sources.get(file) : read(file, languageVersion, ...rest)
    sources.set(file, found)
    return found
  }
  const program = ts.createProgram({ rootNames: fileNames, options, host, configFileParsingDiagnostics: errors })
  return { program, checked }
}

/** What `tsc -p` would report, without the files that were checked with the same options in an earlier project. */
function faultsOf({ program, checked }: Project): readonly ts.Diagnostic[] {
  const files = program.getSourceFiles().filter((file) => !checked.has(file))
  for (const file of files) checked.add(file)
  return ts.sortAndDeduplicateDiagnostics([
    ...program.getConfigFileParsingDiagnostics(),
    ...program.getOptionsDiagnostics(),
    ...program.getSyntacticDiagnostics(),
    ...files.flatMap((file) => program.getSemanticDiagnostics(file)),
    ...program.getGlobalDiagnostics(),
  ])
}

const programs: ts.Program[] = []
const faults: ts.Diagnostic[] = []
for (const path of projects) {
  const project = readProject(join(root, path))
  programs.push(project.program)
  faults.push(...faultsOf(project))
}
console.log(
  ts.formatDiagnostics(faults, {
    getCanonicalFileName: (file) => file,
    getCurrentDirectory: () => root,
    getNewLine: () => '\n',
  }),
)

const eslint = new ESLint({
  cwd: root,
  overrideConfig: {
    files: ['**/*.ts', '**/*.tsx'],
    languageOptions: { parserOptions: { projectService: false, programs } },
  },
})
const paths = process.argv.slice(2)
const results = await eslint.lintFiles(paths.length === 0 ? ['.'] : paths)
const formatter = await eslint.loadFormatter('stylish')
console.log(await formatter.format(results))
const isClean = faults.length === 0 && results.every(({ errorCount, warningCount }) => errorCount + warningCount === 0)
process.exitCode = isClean ? 0 : 1
