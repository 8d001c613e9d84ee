/**
 * Loaded before a server, as `--import`: every interval of two seconds or more passes four times as fast. The server
 * looks, waits and gives up in the same order as always, and a test waits less.
 */
const longMs = 2_000
const times = 4

for (const name of ['setTimeout', 'setInterval'] as const) {
  const original = globalThis[name] as (call: () => void, ms?: number, ...rest: unknown[]) => NodeJS.Timeout
  const hastened = (call: () => void, ms = 0, ...rest: unknown[]) =>
    original(call, ms < longMs ? ms : ms / times, ...rest)
  // Promisified timers have their own implementation.
  Object.assign(globalThis, { [name]: Object.defineProperties(hastened, Object.getOwnPropertyDescriptors(original)) })
}
