// Requests of tools to the engine.
import type { Answering } from '../../rest/rest-request.ts'
import { EngineRequest, type EngineCall } from './engine-request.ts'
import { limitedText } from './limited-text.ts'
import type { ToolContext } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'

export type EngineAnswer = {
  readonly status: number
  /** The value of a header of the response. @param name in lower case */
  readonly header: (name: string) => string | undefined
  readonly text: string
}

/** Headers of an agent's request that SQL may read, as in any other request. */
const forwarded = ['user-agent', 'x-client-info', 'x-forwarded-for', 'x-real-ip'] as const

/**
 * Sends a request as the caller.
 *
 * @throws ToolRefusal with the engine's error, or for a response that is too large; its status says which
 */
export async function askEngine(
  engine: Answering,
  call: EngineCall,
  { caller, request, signal, parts }: ToolContext,
): Promise<EngineAnswer> {
  const { restBasePath, mcpMaxBytes } = parts.snapshot().config
  const headers = [
    ...caller.headers,
    ...forwarded.flatMap((name) => {
      const value = request.headers[name]
      return typeof value === 'string' ? [[name, value] as const] : []
    }),
    // The engine's headers have one character per byte.
    ...call.headers.map(([name, value]) => [name, Buffer.from(value).toString('latin1')] as const),
  ]
  const basePath = restBasePath === '/' ? '' : restBasePath
  const response = await engine.answer(new EngineRequest({ ...call, headers }, { source: request, basePath, signal }))
  const text = await limitedText(response, mcpMaxBytes, () => new TooLarge(mcpMaxBytes))
  signal.throwIfAborted()
  if (response.status >= 400) throw new EngineRefusal(response.status, text)
  return {
    status: response.status,
    header: (name) => response.headers.find(([known]) => known.toLowerCase() === name)?.[1],
    text,
  }
}

/** The engine has answered with an error. */
export class EngineRefusal extends ToolRefusal {
  readonly status: number

  constructor(status: number, text: string) {
    super(`The REST API refused the request with status ${status}.`, text === '' ? undefined : asJson(text))
    this.status = status
  }
}

/** Errors that functions send with a media type of their own are texts. */
function asJson(text: string): string {
  try {
    JSON.parse(text)
    return text
  } catch {
    return JSON.stringify(text)
  }
}

export class TooLarge extends ToolRefusal {
  constructor(limit: number) {
    super(
      `The result has more than ${limit} bytes (MCP_MAX_BYTES). Select fewer columns or rows, or shorten long texts.`,
    )
  }
}
