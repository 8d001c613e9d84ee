// The script of every page. The search runs in the browser: its index is one file of this server.

const place = 'holdpoint.theme'
/** The console stores the theme in the same place. This runs before the page is drawn. */
function applyTheme(theme) {
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  else delete document.documentElement.dataset.theme
}
applyTheme(localStorage.getItem(place))

document.addEventListener('DOMContentLoaded', () => {
  const theme = document.getElementById('theme')
  theme.value = document.documentElement.dataset.theme ?? 'system'
  theme.addEventListener('change', () => {
    localStorage.setItem(place, theme.value)
    applyTheme(theme.value)
  })

  // Buttons that open a list on a narrow screen. On a wide one the lists are always there.
  for (const button of document.querySelectorAll('[aria-controls]')) {
    const list = document.getElementById(button.getAttribute('aria-controls'))
    const open = (isOpen) => button.setAttribute('aria-expanded', String(isOpen))
    button.addEventListener('click', () => open(button.getAttribute('aria-expanded') === 'false'))
    list.addEventListener('click', () => open(false))
  }

  for (const box of document.querySelectorAll('.code')) addCopyButton(box)
  // What scrolls can be reached with the keyboard.
  for (const box of document.querySelectorAll('.code pre, .table-scroll'))
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0
  const pages = document.getElementById('pages')
  pages.scrollTop = pages.querySelector('[aria-current]').offsetTop - pages.clientHeight / 2
  markCurrentHeading()
  listenToSearch()
})

function addCopyButton(box) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'button quiet'
  button.textContent = 'Copy'
  button.addEventListener('click', () => {
    const text = box.querySelector('code').textContent
    // The clipboard needs HTTPS or localhost.
    if (isSecureContext) void navigator.clipboard.writeText(text)
    else prompt('Copy this text:', text)
    button.textContent = 'Copied'
    setTimeout(() => (button.textContent = 'Copy'), 1_500)
  })
  box.querySelector('.code-head').append(button)
}

/** Marks the part of the page that is being read in the list of its contents. */
function markCurrentHeading() {
  const links = new Map([...document.querySelectorAll('#contents a')].map((link) => [link.hash.slice(1), link]))
  const headings = [...links.keys()].map((id) => document.getElementById(id))
  const mark = () => {
    const current = headings.findLast((heading) => heading.getBoundingClientRect().top < 120) ?? headings[0]
    for (const [id, link] of links) link.toggleAttribute('data-current', id === current.id)
  }
  if (headings.length === 0) return
  addEventListener('scroll', mark, { passive: true })
  mark()
}

function listenToSearch() {
  const input = document.getElementById('search')
  const results = document.getElementById('results')
  let index

  async function search() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    if (words.length === 0) return void (results.hidden = true)
    index ??= fetch('/docs/search.json').then((response) => response.json())
    const found = (await index)
      .map((section) => ({ section, score: scoreOf(section, words) }))
      .filter(({ score }) => score > 0)
      .toSorted((one, other) => other.score - one.score)
      .slice(0, 10)
    results.hidden = false
    results.replaceChildren(...found.map(({ section }) => itemOf(section, words)))
    if (found.length === 0) results.append(make('li', 'Nothing found'))
  }

  input.addEventListener('input', () => void search())
  input.addEventListener('focus', () => void search())
  input.parentElement.addEventListener('focusout', ({ relatedTarget }) => {
    if (!input.parentElement.contains(relatedTarget)) results.hidden = true
  })
  input.parentElement.addEventListener('keydown', (event) => {
    const stops = [input, ...results.querySelectorAll('a')]
    const next = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (next) {
      event.preventDefault()
      stops[(stops.indexOf(document.activeElement) + next + stops.length) % stops.length].focus()
    } else if (event.key === 'Enter' && event.target === input) stops[1]?.click()
    else if (event.key === 'Escape') {
      input.value = ''
      input.focus()
      results.hidden = true
    }
  })
  document.addEventListener('keydown', (event) => {
    const isShortcut = event.key === '/' ? !/INPUT|SELECT/.test(event.target.tagName) : isCommandK(event)
    if (!isShortcut) return
    event.preventDefault()
    input.focus()
  })
}

const isCommandK = ({ key, ctrlKey, metaKey }) => key === 'k' && (ctrlKey || metaKey)

/** Every word must occur. A heading that is the search itself, such as the name of a setting, comes first. */
function scoreOf({ heading, page, text }, words) {
  const name = heading.toLowerCase()
  const whole = words.join(' ')
  let score = name === whole ? 100 : name.startsWith(whole) ? 20 : 0
  for (const word of words) {
    const points = 10 * name.includes(word) + 3 * page.toLowerCase().includes(word) + text.toLowerCase().includes(word)
    if (points === 0) return 0
    score += points
  }
  return score
}

function itemOf({ path, page, heading, text }, words) {
  const link = make('a', '', make('b', heading), make('span', heading === page ? '' : page))
  link.href = path
  const at = Math.max(
    0,
    Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0)) - 40,
  )
  if (text)
    link.append(make('small', `${at > 0 && at < Infinity ? '…' : ''}${text.slice(at < Infinity ? at : 0).trim()}`))
  return make('li', '', link)
}

function make(tag, text, ...children) {
  const element = document.createElement(tag)
  element.append(text, ...children)
  return element
}
