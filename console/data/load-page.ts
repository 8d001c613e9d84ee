import { lazy, type ComponentType, type LazyExoticComponent } from 'react'

/** How long to wait before the code of a page is asked for again. */
const pauseMs = 1_000

/** A page whose code is loaded when it is first opened. If the server is away, it opens when the server is back. */
export function loadPage<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => ({ default: await persistently(load) }))
}

async function persistently<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  for (let isSecond = false; ; isSecond = await answers()) {
    try {
      const loaded = await load()
      sessionStorage.removeItem(place)
      return loaded
    } catch (error) {
      if (isSecond) return startOver(error)
      await new Promise((done) => void setTimeout(done, pauseMs))
    }
  }
}

const place = 'holdpoint.startedOver'

/**
 * The server answers, but the code cannot be loaded: the browser remembers that it failed, or the server is a newer
 * version. The whole console is loaded anew, once. If that does not help, the boundary shows the error.
 */
function startOver(error: unknown): Promise<never> {
  if (sessionStorage.getItem(place) === location.pathname) throw error
  sessionStorage.setItem(place, location.pathname)
  location.reload()
  return new Promise(() => {})
}

async function answers(): Promise<boolean> {
  return fetch('/', { method: 'HEAD' }).then(
    ({ ok }) => ok,
    () => false,
  )
}
