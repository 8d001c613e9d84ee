import { useCallback, useRef, useState } from 'react'

export interface Action<Args extends readonly unknown[]> {
  readonly isBusy: boolean
  /** Why the last attempt failed, for the person to read. */
  readonly problem: string | undefined
  /** The input field that the server named. */
  readonly field: string | undefined
  run(...args: Args): void
  clear(): void
}

/** A refusal is part of normal use, and is shown where it happened. */
export class Refused extends Error {}

/** An action of a person that takes a moment. Starting it again while it is in progress does nothing. */
export function useAction<Args extends readonly unknown[]>(act: (...args: Args) => Promise<void>): Action<Args> {
  const [state, setState] = useState<{ isBusy: boolean; problem?: string; field?: string }>({ isBusy: false })
  const busy = useRef(false)
  const latest = useRef(act)
  latest.current = act
  const run = useCallback((...args: Args): void => {
    if (busy.current) return
    busy.current = true
    setState({ isBusy: true })
    latest.current(...args).then(
      () => {
        busy.current = false
        setState({ isBusy: false })
      },
      (error: unknown) => {
        busy.current = false
        const field = error instanceof Error && 'field' in error ? (error.field as string | undefined) : undefined
        setState({ isBusy: false, problem: wordsOf(error, field), ...(field !== undefined && { field }) })
      },
    )
  }, [])
  const clear = useCallback(() => setState(({ isBusy }) => ({ isBusy })), [])
  return { isBusy: state.isBusy, problem: state.problem, field: state.field, run, clear }
}

/** The server's message begins with the path of the field, which is shown next to that field. */
function wordsOf(error: unknown, field: string | undefined): string {
  const message = error instanceof Error ? error.message : String(error)
  return field !== undefined && message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message
}
