/** A part of what a model was sent, with its size in characters of JSON. */
export interface RequestPart {
  readonly kind: 'instructions' | 'tools' | 'messages' | 'settings'
  readonly label: string
  readonly size: number
}

const sizeOf = (value: unknown): number => (JSON.stringify(value) ?? '').length

/**
 * The parts of a kept request. Each provider has its own names: instructions are `instructions`, `system`,
 * `systemPrompt` or messages with that role; messages are `messages` or `input`.
 */
export function requestParts(request: unknown): RequestPart[] {
  if (typeof request !== 'object' || request === null) return []
  const { instructions, system, systemPrompt, messages, input, tools, ...settings } = request as Record<string, unknown>
  const list = [messages, input].find((one) => Array.isArray(one)) as
    readonly { role?: string; type?: string }[] | undefined
  const isInstruction = ({ role }: { role?: string }): boolean => role === 'system' || role === 'developer'
  const groups = Map.groupBy(
    list?.filter((one) => !isInstruction(one)) ?? [],
    ({ role, type }) => role ?? type ?? 'other',
  )
  const told = [instructions, system, systemPrompt, ...(list?.filter(isInstruction) ?? [])].filter(
    (one) => one !== undefined,
  )
  return [
    { kind: 'instructions' as const, label: 'Instructions and memory', size: told.length > 0 ? sizeOf(told) : 0 },
    {
      kind: 'tools' as const,
      label: Array.isArray(tools) ? `${tools.length} tools` : 'Tools',
      size: tools === undefined ? 0 : sizeOf(tools),
    },
    ...[...groups].map(([name, some]) => ({
      kind: 'messages' as const,
      label: `${some.length} × ${name.replaceAll('_', ' ')}`,
      size: sizeOf(some),
    })),
    { kind: 'settings' as const, label: 'Settings', size: sizeOf(settings) },
  ].filter(({ size }) => size > 2)
}
