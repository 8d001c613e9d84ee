import { tour } from './graphiql-tour.ts'

/** Where the console keeps its key: whoever signs in there is signed in here, and vice versa. */
const keyPlace = 'holdpoint.key'

/**
 * A bar above GraphiQL: the way back to the tour, the ids that it carries from tab to tab, and one key for all tabs.
 */
export function renderBar({ hasConsole }: { readonly hasConsole: boolean }): string {
  return `<header id="holdpoint">
  <a href="/graphql?tour">Start the tour again</a>
  ${hasConsole ? '<a href="/">Console</a><a href="/docs">Docs</a>' : ''}
  <output aria-label="Ids of the tour"></output>
  <form>
    <input type="password" name="key" aria-label="API key" placeholder="API key (hp_...)" autocomplete="off" required>
    <button>Use this key</button>
  </form>
</header>`
}

export const barStyle = `<style>
  :root { --bar: 2.5rem; color-scheme: light dark; }
  .graphiql-container { height: calc(100vh - var(--bar)) !important; }
  #holdpoint { height: var(--bar); box-sizing: border-box; display: flex; align-items: center; gap: 1.25rem;
    padding: 0 1rem; border-bottom: 1px solid light-dark(#e3ddd4, #38342e); background: light-dark(#faf8f5, #171513);
    color: light-dark(#665f56, #aba397); font: 13px/1.2 system-ui, sans-serif; white-space: nowrap; }
  #holdpoint a { color: light-dark(#a8480f, #f19a63); }
  #holdpoint output { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; font-family: ui-monospace, monospace; font-size: 11px; }
  #holdpoint form { display: flex; gap: .5rem; }
  #holdpoint input { width: 9.5rem; }
  #holdpoint input, #holdpoint button { font: inherit; padding: .2rem .5rem; }
  /* GraphiQL's tabs can be dragged, and each keeps the offset of an animation that never ran. Under the pointer the
     offset takes effect: the tab jumps away, and the first click on it is lost (seen in Chromium 156 with GraphiQL 5). */
  .graphiql-tab { transform: none !important; }
</style>`

/**
 * Runs before GraphiQL, which reads its tabs from localStorage and calls `fetch` by its global name.
 *
 * - The tour is put before all other tabs at the first visit and at `/graphql?tour`: another GraphiQL on the same
 *   origin may have left tabs, and tabs can be closed.
 * - Requests get the key, unless GraphiQL's header editor has another one.
 * - A variable such as RUN_ID is sent as the id of the run that a mutation answered last.
 */
export const barScript = `(() => {
  const tour = ${JSON.stringify(tour).replaceAll('<', '\\u003c')}
  const known = read('holdpoint.tour') ?? {}
  const isFirstVisit = localStorage.getItem('holdpoint.tour') === null
  const asked = new URLSearchParams(location.search)
  if (asked.has('tour') || (isFirstVisit && !asked.has('query'))) startTour()
  showIds()
  offerKey(document.querySelector('#holdpoint form'))

  const send = window.fetch.bind(window)
  window.fetch = async (url, init) => {
    if (typeof init?.body !== 'string') return send(url, init)
    const request = JSON.parse(init.body, (name, value) => (isPlaceholder(value) ? (known[value] ?? value) : value))
    const headers = new Headers(init.headers)
    const key = localStorage.getItem('${keyPlace}')
    if (key && !headers.has('authorization')) headers.set('authorization', 'Bearer ' + key)
    const response = await send(url, { ...init, headers, body: JSON.stringify(request) })
    if (/^mutation/m.test(request.query)) learnIds(await response.clone().text())
    return response
  }

  function startTour() {
    const named = (query) => /^(?:query|mutation|subscription) (\\w+)/m.exec(query ?? '')?.[1] ?? null
    const names = tour.map(({ query }) => named(query))
    const tourTabs = tour.map(({ query, variables = null }, index) => {
      const name = names[index]
      return { id: 'tour-' + name, title: name, operationName: name, query, variables, headers: null, response: null }
    })
    const tabs = read('graphiql:tabState')?.tabs
    const others = Array.isArray(tabs) ? tabs.filter((tab) => tab?.query && !names.includes(named(tab.query))) : []
    // GraphiQL opens the tab that has this query and no variables.
    localStorage.setItem('graphiql:query', tour[0].query)
    for (const name of ['variables', 'headers']) localStorage.removeItem('graphiql:' + name)
    localStorage.setItem('graphiql:tabState', JSON.stringify({ tabs: [...tourTabs, ...others], activeTabIndex: 0 }))
    localStorage.setItem('holdpoint.tour', JSON.stringify(known))
    history.replaceState(null, '', location.pathname)
  }

  function isPlaceholder(value) {
    return typeof value === 'string' && /^(AGENT|RUN|CALL)_ID$/.test(value)
  }

  function learnIds(text) {
    for (const [, id, kind] of text.matchAll(/"id":"((agent|run|call)_\\w+)"/g)) known[kind.toUpperCase() + '_ID'] = id
    localStorage.setItem('holdpoint.tour', JSON.stringify(known))
    showIds()
  }

  function showIds() {
    const shown = Object.entries(known).map(([name, id]) => name + ' = ' + id.replace(/_.*(?=.{6}$)/, '_…'))
    document.querySelector('#holdpoint output').textContent = shown.join('   ')
  }

  function offerKey(form) {
    const isSet = localStorage.getItem('${keyPlace}') !== null
    form.key.hidden = isSet
    form.key.required = !isSet
    if (isSet) form.querySelector('button').textContent = 'Forget the key'
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      if (isSet) localStorage.removeItem('${keyPlace}')
      else localStorage.setItem('${keyPlace}', form.key.value.trim())
      location.reload()
    })
  }

  function read(name) {
    try {
      return JSON.parse(localStorage.getItem(name))
    } catch {
      return null
    }
  }
})()`
