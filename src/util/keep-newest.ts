/** Deletes the entries of a map that were added first, until it has at most `most`. */
export function keepNewest(map: Map<unknown, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return
    map.delete(key)
  }
}
