/**
 * Calls `listener` when the signal is aborted, or immediately if it already is. Call the returned function to stop
 * listening.
 */
export function onAbort(signal: AbortSignal, listener: (reason: Error) => void): () => void {
  const listen = () => listener(signal.reason as Error)
  signal.addEventListener('abort', listen, { once: true })
  if (signal.aborted) listen()
  return () => signal.removeEventListener('abort', listen)
}

/** Reason for aborting what is over anyway. Shared, because a new DOMException collects a stack trace. */
export const noLongerNeeded = new DOMException('It is no longer needed.', 'AbortError')

/**
 * Settles like the promise, or rejects with the signal's reason as soon as the signal is aborted. After that, the
 * promise's own outcome is ignored.
 */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const stopListening = onAbort(signal, reject)
  try {
    return await Promise.race([aborted, promise])
  } finally {
    stopListening()
  }
}
