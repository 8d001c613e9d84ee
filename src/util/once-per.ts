/** A function that computes its result once for each object. The object must not change. */
export function oncePer<Subject extends object, Result>(
  compute: (subject: Subject) => Result,
): (subject: Subject) => Result {
  const results = new WeakMap<Subject, { readonly result: Result }>()
  return (subject) => {
    const known = results.get(subject)
    if (known) return known.result
    const result = compute(subject)
    results.set(subject, { result })
    return result
  }
}
