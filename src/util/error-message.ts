/** The error message of a thrown value, which may not be an Error: libraries and tools throw anything. */
export function errorMessage(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error)
  } catch {
    return 'Something was thrown that has no text.'
  }
}
