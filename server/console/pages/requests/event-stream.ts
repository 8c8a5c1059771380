// Reads server-sent events from a response, because EventSource cannot send headers.
// https://html.spec.whatwg.org/multipage/server-sent-events.html

export type ServerEvent = { readonly event: string; readonly data: string }

/** The events of a response, until it ends. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    const blocks = (rest + read.value).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = /^event: (.*)$/m.exec(block)?.[1]
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (event !== undefined && data !== undefined) yield { event, data }
    }
  }
}
