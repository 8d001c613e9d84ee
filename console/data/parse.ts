import { Refused } from './use-action.ts'

/** The JSON in a form field. Null if it is empty. */
export function jsonOf(text: string, name: string): unknown {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new FieldError(name, `This is not JSON: ${(error as Error).message}`)
  }
}

/** The number in a form field. Null if it is empty. */
export function numberOf(text: string, name: string): number | null {
  if (text.trim() === '') return null
  const value = Number(text)
  if (Number.isNaN(value)) throw new FieldError(name, 'Enter a number.')
  return value
}

/** The words in a form field, separated by commas. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
}

/** A value that cannot be sent. `name` is the input field's path, or its last part. */
export class FieldError extends Refused {
  readonly field: string
  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}
