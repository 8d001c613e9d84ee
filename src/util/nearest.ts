/** The known name that is most like a misspelled one: the fewest letters must be added, removed or replaced. */
export function nearest(misspelled: string, known: readonly string[]): string {
  const distances = known.map((name) => distance(misspelled.toLowerCase(), name.toLowerCase()))
  return known[distances.indexOf(Math.min(...distances))]!
}

function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let line = 0; line < one.length; line += 1) {
    const next = [line + 1]
    for (let index = 0; index < other.length; index += 1)
      next.push(Math.min(next[index]! + 1, row[index + 1]! + 1, row[index]! + (one[line] === other[index] ? 0 : 1)))
    row = next
  }
  return row.at(-1)!
}
