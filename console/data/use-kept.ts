import { useCallback, useSyncExternalStore } from 'react'

const place = 'holdpoint.kept.'

/** What people have typed and neither sent nor saved, by a name of its place. */
const kept = new Map<string, unknown>()
const listeners = new Set<() => void>()

for (const key of Object.keys(sessionStorage)) {
  if (key.startsWith(place)) kept.set(key.slice(place.length), JSON.parse(sessionStorage.getItem(key)!))
}
addEventListener('pagehide', store)
document.addEventListener('visibilitychange', () => document.hidden && store())

function store(): void {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith(place) && !kept.has(key.slice(place.length))) sessionStorage.removeItem(key)
  }
  for (const [name, value] of kept) {
    try {
      sessionStorage.setItem(place + name, JSON.stringify(value, withoutSecrets))
    } catch {
      // The browser has no room for it.
    }
  }
}

/** Headers may contain the keys of other services, which only the server keeps. */
const withoutSecrets = (name: string, value: unknown): unknown => (name === 'headers' ? undefined : value)

function keep(name: string, value: unknown): void {
  if (value === undefined) kept.delete(name)
  else kept.set(name, value)
  for (const listener of [...listeners]) listener()
}

type Setter<Value> = (next: Value | undefined | ((before: Value | undefined) => Value | undefined)) => void

/**
 * What a person types, which is still there after a look at another page, a closed dialog or a reload, in the same tab.
 * Undefined if there is nothing to keep. It can be set after the component has gone.
 */
export function useKept<Value>(name: string): [value: Value | undefined, set: Setter<Value>] {
  const value = useSyncExternalStore(subscribe, () => kept.get(name) as Value | undefined)
  const set: Setter<Value> = useCallback(
    (next) => keep(name, typeof next === 'function' ? (next as (before: unknown) => unknown)(kept.get(name)) : next),
    [name],
  )
  return [value, set]
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export interface KeptForm<Form> {
  readonly form: Form
  readonly hasChanged: boolean
  set(part: Partial<Form> | ((form: Form) => Partial<Form>)): void
  forget(): void
}

/** The fields of a form: those that the person has changed, and the others as they are given. */
export function useKeptForm<Form extends object>(name: string, given: Form): KeptForm<Form> {
  const [changed, setChanged] = useKept<Partial<Form>>(name)
  return {
    form: { ...given, ...changed },
    hasChanged: changed !== undefined,
    set: (part) =>
      setChanged((before) => ({ ...before, ...(typeof part === 'function' ? part({ ...given, ...before }) : part) })),
    forget: () => setChanged(undefined),
  }
}

/** For whoever uses the browser next. */
export function forgetKept(): void {
  kept.clear()
  store()
}
