/**
 * Where `part`, which is not empty, occurs in `text`, in order: at most `max` places, which may overlap. Takes time in
 * proportion to the lengths (Knuth, Morris and Pratt), where `indexOf` may take their product: minutes for a megabyte.
 */
export function placesOf(text: string, part: string, max: number): number[] {
  /** For each beginning of `part`, how long the longest shorter beginning is that it also ends with. */
  const borders = new Int32Array(part.length)
  const borderOf = (length: number) => borders[length - 1] ?? 0
  for (let at = 1, matched = 0; at < part.length; at += 1) {
    while (matched > 0 && part.charCodeAt(at) !== part.charCodeAt(matched)) matched = borderOf(matched)
    if (part.charCodeAt(at) === part.charCodeAt(matched)) matched += 1
    borders[at] = matched
  }
  const places: number[] = []
  for (let at = 0, matched = 0; at < text.length && places.length < max; at += 1) {
    while (matched > 0 && text.charCodeAt(at) !== part.charCodeAt(matched)) matched = borderOf(matched)
    if (text.charCodeAt(at) === part.charCodeAt(matched)) matched += 1
    if (matched < part.length) continue
    places.push(at - part.length + 1)
    matched = borderOf(matched)
  }
  return places
}
