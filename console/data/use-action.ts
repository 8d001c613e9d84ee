import { useCallback, useRef, useState } from 'react'

import type { ProblemOf } from './bind.ts'

export interface Action<Args extends readonly unknown[]> {
  readonly isBusy: boolean
  /** Why the last attempt failed, for the person to read. */
  readonly problem: string | undefined
  /** The path of the input field that was refused, without the names of the mutation's arguments. */
  readonly field: string | undefined
  /** Why the field at this path was refused, or a part of it. */
  readonly problemOf: ProblemOf
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
        setState({
          isBusy: false,
          problem: wordsOf(error, field),
          ...(field !== undefined && { field: pathOf(field) }),
        })
      },
    )
  }, [])
  const clear = useCallback(() => setState(({ isBusy }) => ({ isBusy })), [])
  const { isBusy, problem, field } = state
  const problemOf: ProblemOf = (path) => (field === path || field?.startsWith(`${path}.`) ? problem : undefined)
  return { isBusy, problem, field, problemOf, run, clear }
}

/** The server writes an index as `.0` or, if the type is wrong, `[0]`. */
const pathOf = (field: string): string => field.replace(/^input\.(agent\.)?/, '').replaceAll(/\[(\d+)\]/g, '.$1')

/** The server's message begins with the path of the field, which is shown next to that field. */
function wordsOf(error: unknown, field: string | undefined): string {
  const message = error instanceof Error ? error.message : String(error)
  return field !== undefined && message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message
}
