import type { AttributeValue } from './span.ts'

/** Attributes in the JSON form of OTLP. */
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

/** The origin of spans and metrics. */
export const scope = { name: 'holdpoint' }
