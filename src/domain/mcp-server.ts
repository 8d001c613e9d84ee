/** A Model Context Protocol server whose tools agents may use. */
export interface McpServer {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly url: string
  /** Secret. */
  readonly headers: Readonly<Record<string, string>>
  readonly lastError: string | null
  readonly createdAt: Date
}
