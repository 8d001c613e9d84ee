/** The known name that is most like a misspelled one: the fewest letters must be added, removed or replaced. */
export function nearest(misspelled: string, known: readonly string[]): string {
  const distanceTo = (name: string) => distance(misspelled.toLowerCase(), name.toLowerCase())
  return known.toSorted((one, other) => distanceTo(one) - distanceTo(other))[0] ?? ''
}

function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let line = 0; line < one.length; line += 1) {
    const next = [line + 1]
    for (const [index, above] of row.slice(1).entries()) {
      const replaced = (row[index] ?? 0) + (one[line] === other[index] ? 0 : 1)
      next.push(Math.min((next[index] ?? 0) + 1, above + 1, replaced))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
