// The tail of requests, as long as the page is open.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { RequestEntry, RequestEvent, TailStart } from '../../../services/console/request-protocol.ts'
import { consoleResponse } from '../../api.ts'
import { eventsOf } from './event-stream.ts'
import { RequestFigures } from './request-figures.ts'

/** Requests that are kept in the browser. */
const most = 1000
/** Milliseconds until another attempt. */
const pauseTime = 2000

export type Tail = {
  /** The newest first. */
  readonly entries: readonly RequestEntry[]
  readonly figures: RequestFigures
  /** Requests that the server has left out. */
  readonly lost: number
  readonly worker: number | null
  readonly isOpen: boolean
  readonly error: unknown
  readonly clear: () => void
}

const empty = { entries: [], lost: 0, worker: null, isOpen: false, error: undefined }

/** @param isPaused keeps what is shown; requests go on being collected */
export function useTail(isPaused: boolean): Tail {
  const [state, setState] = useState<Omit<Tail, 'figures' | 'clear'>>(empty)
  const collected = useRef<{ entries: readonly RequestEntry[]; lost: number }>({ entries: [], lost: 0 })
  const figures = useRef(new RequestFigures())
  const paused = useRef(isPaused)
  paused.current = isPaused
  const show = (): void => setState((known) => ({ ...known, ...collected.current }))
  useEffect(() => {
    if (!isPaused) show()
  }, [isPaused])
  useEffect(() => {
    const ending = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const add = (event: RequestEvent): void => {
      const { entries, lost } = collected.current
      collected.current = {
        entries: [...event.entries.toReversed(), ...entries].slice(0, most),
        lost: lost + event.lost,
      }
      figures.current.add(event, isOfOthers)
      if (!paused.current) show()
    }
    const follow = async (): Promise<void> => {
      const response = await consoleResponse('requests', { signal: ending.signal })
      for await (const { event, data } of eventsOf(response)) {
        if (event === 'requests') add(JSON.parse(data) as RequestEvent)
        else if (event === 'start') {
          const { worker } = JSON.parse(data) as TailStart
          setState((known) => ({ ...known, worker, isOpen: true, error: undefined }))
        }
      }
    }
    const repeat = (): void => {
      follow()
        .catch((error: unknown) => ending.signal.aborted || setState((known) => ({ ...known, error })))
        .finally(() => {
          if (ending.signal.aborted) return
          setState((known) => ({ ...known, isOpen: false }))
          timer = setTimeout(repeat, pauseTime)
        })
    }
    repeat()
    return () => {
      ending.abort()
      clearTimeout(timer)
    }
  }, [])
  return {
    ...state,
    figures: figures.current,
    clear: () => {
      collected.current = { entries: [], lost: 0 }
      figures.current.clear()
      show()
    },
  }
}

/** Whether a request is not one of the console's own. */
export const isOfOthers = ({ path }: RequestEntry): boolean => !/^(?:\/[^?]*)?\/console(?:\/|$)/.test(path)
