// The script of every page. It searches the documentation in the browser: the index is one file of this server.
const input = document.getElementById('search')
const results = document.getElementById('results')
let sections

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
  results.hidden = words.length === 0
  if (words.length === 0) return
  sections ??= fetch('/docs/search.json').then((response) => response.json())
  const found = (await sections)
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, 12)
  results.replaceChildren(
    ...(found.length > 0 ? found.map(({ section }) => itemOf(section)) : [textItem('Nothing found')]),
  )
}

/** Every word must occur. Words in the heading count most. */
function scoreOf({ heading, page, text }, words) {
  let score = 0
  for (const word of words) {
    const points =
      10 * heading.toLowerCase().includes(word) +
      3 * page.toLowerCase().includes(word) +
      text.toLowerCase().includes(word)
    if (points === 0) return 0
    score += points
  }
  return score
}

function itemOf({ path, page, heading }) {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = path
  link.textContent = heading === page ? page : `${page}: ${heading}`
  item.append(link)
  return item
}

function textItem(text) {
  const item = document.createElement('li')
  item.textContent = text
  return item
}

input.addEventListener('input', () => void search())
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target instanceof HTMLInputElement) return
  event.preventDefault()
  input.focus()
})

// On a narrow screen the list of pages is closed, so that the page itself is in sight. This script stands right after
// the list: the list is closed before it is shown.
const narrow = matchMedia('(max-width: 50rem)')
const arrange = () => (document.getElementById('pages').open = !narrow.matches)
narrow.addEventListener('change', arrange)
arrange()
