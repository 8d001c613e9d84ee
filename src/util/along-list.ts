/**
 * A function that folds a list into a state, item by item. It continues from the last state if the list begins with the
 * items of the previous one, so that a list that grows costs only what is new. Lists are told apart by their first
 * item. The items must not change, and callers must not change the state.
 */
export function alongList<Item extends object, State>(
  begin: () => State,
  add: (state: State, item: Item) => State,
): (items: readonly Item[]) => State {
  const known = new WeakMap<Item, { readonly items: readonly Item[]; readonly state: State }>()
  return (items) => {
    const [first] = items
    if (!first) return begin()
    const last = known.get(first)
    const continued = last && beginsWith(items, last.items) ? last : { items: [], state: begin() }
    if (continued.items.length === items.length) return continued.state
    // `add` may throw, and leave the state between two items.
    known.delete(first)
    const state = items.slice(continued.items.length).reduce(add, continued.state)
    known.set(first, { items: [...items], state })
    return state
  }
}

function beginsWith<Item>(items: readonly Item[], start: readonly Item[]): boolean {
  return start.length <= items.length && start.every((item, place) => item === items[place])
}
