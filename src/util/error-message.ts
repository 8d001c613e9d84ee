/** The message of whatever was thrown: libraries and tools may throw anything. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
