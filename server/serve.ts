// LOCAL DECLARATION: the server itself is written elsewhere, and this file is to be replaced by it at the merge.
import type { ServeOptions } from './command-line/dependencies.ts'

export declare function serve(options: ServeOptions): Promise<void>
