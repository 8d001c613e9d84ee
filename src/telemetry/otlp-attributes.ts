import type { AttributeValue } from './span.ts'

/** Attributes as OTLP writes them in JSON. */
export function toOtlpAttributes(attributes: Readonly<Record<string, AttributeValue | undefined>>) {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: toOtlpValue(value) }],
  )
}

function toOtlpValue(value: AttributeValue) {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map((text) => ({ stringValue: text.toWellFormed() })) } }
}

export function toNanoseconds(time: Date): string {
  return `${time.getTime()}000000`
}

/** Where spans and metrics come from. */
export const scope = { name: 'holdpoint' }
