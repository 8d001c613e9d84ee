import type { SealedHeaders } from './tool.ts'

/** A Model Context Protocol server whose tools agents may use. */
export interface McpServer {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly url: string
  /** Never shown. */
  readonly headers: SealedHeaders
  readonly lastError: string | null
  readonly createdAt: Date
}
