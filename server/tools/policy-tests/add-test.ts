// Adds a test to the files of the project, as people would write it.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Document, isCollection, isMap, isSeq, parseDocument } from 'yaml'
import { compileSchema, parseTestFile } from './test-file.ts'

/** Name of the file for tests of single requests. */
const requests = 'requests.yaml'

const head = ' Tests of single requests. Run them with `rowhouse test`.'

/**
 * Adds a test to `requests.yaml` in the folder of the tests, which is created if it is missing. Keeps what else the file has.
 *
 * @param test in the form of the files
 * @returns the path of the file
 * @throws TestFileError if the file or the test is invalid; nothing is written then
 */
export const addTest = (folder: string, test: Readonly<Record<string, unknown>>): Promise<string> =>
  addEntry(folder, 'tests', test)

/** Adds a mutant that no test needs to notice to the same file. */
export const acceptMutant = (
  folder: string,
  { mutant, reason }: { readonly mutant: string; readonly reason: string },
): Promise<string> => addEntry(folder, 'accepted', { mutant, reason })

async function addEntry(
  folder: string,
  list: 'tests' | 'accepted',
  entry: Readonly<Record<string, unknown>>,
): Promise<string> {
  const path = join(folder, requests)
  const before = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  const document = before === undefined ? new Document({}) : parseDocument(before)
  const validate = await compileSchema()
  if (before !== undefined) parseTestFile(path, before, validate)
  if (!isMap(document.contents)) document.contents = document.createNode({})
  if (before === undefined) document.commentBefore = head
  if (!isSeq(document.get(list, true))) document.set(list, document.createNode([]))
  document.addIn([list], document.createNode(entry))
  const entries = document.get(list, true)
  if (isCollection(entries)) entries.flow = false
  if (isCollection(document.contents)) document.contents.flow = false
  const after = document.toString({ lineWidth: 0 })
  parseTestFile(path, after, validate)
  await mkdir(folder, { recursive: true })
  await writeFile(path, after)
  return path
}
