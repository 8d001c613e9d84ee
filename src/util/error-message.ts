/** The error message of a thrown value, which may not be an Error: libraries and tools throw anything. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
