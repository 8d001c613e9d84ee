/**
 * What a Claude model accepts follows from its version: 4.6 in claude-sonnet-4-6, 5 in claude-opus-5, 3.7 in
 * claude-3-7-sonnet.
 */
export function claudeVersion(given: string): number {
  const name = plainClaudeName(given)
  if (name.startsWith('claude-mythos-preview')) return 4.6
  const [, major, minor] = /^claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2})(?!\d))?/.exec(name) ?? []
  return Number(`${major ?? 0}.${minor ?? 0}`)
}

/** claude-opus-4-5-20251101 of us.anthropic.claude-opus-4-5-20251101-v1:0, as Amazon calls it. */
export function plainClaudeName(name: string): string {
  return name.replace(/^.*anthropic\.(?=claude)/, '').replace(/-v\d+(:\d+)?$/, '')
}

/** These generations also refuse a temperature. */
export function takesTemperature(name: string): boolean {
  return claudeVersion(name) < 4.7
}

/** Strict tools and structured answers. */
export function takesSchemas(name: string): boolean {
  return claudeVersion(name) >= 4.5
}
