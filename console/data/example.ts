/** Arguments that fit a tool's parameters: a value of the right type for each property. */
export function exampleOf(schema: unknown): Record<string, unknown> {
  const { properties = {} } = (schema ?? {}) as { readonly properties?: Record<string, { readonly type?: unknown }> }
  const examples: Record<string, unknown> = {
    string: 'text',
    integer: 1,
    number: 1,
    boolean: true,
    array: [],
    object: {},
  }
  return Object.fromEntries(
    Object.entries(properties).map(([name, { type }]) => [name, examples[String(type)] ?? null]),
  )
}
