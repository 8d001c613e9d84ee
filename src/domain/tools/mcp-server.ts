import type { SealedHeaders } from './tool.ts'

/** A Model Context Protocol server whose tools agents may use. */
export interface McpServer {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly url: string
  /** Never shown to clients. */
  readonly headers: SealedHeaders
  readonly lastError: string | null
  /** Whether its tools require approval when they are first listed. */
  readonly requiresApproval: boolean
  /** Whether it comes from the configuration file, which says how to reach it. */
  readonly configured: boolean
  readonly createdAt: Date
}

/** An MCP server of the configuration file. Its command and its secrets are in the file, not in the database. */
export interface ConfiguredMcpServer {
  readonly name: string
  readonly requiresApproval: boolean
  /** `stdio:` and the name if it is a command. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The program to start, which speaks the protocol on standard input and output. Null for a remote server. */
  readonly launch: {
    readonly command: string
    readonly args: readonly string[]
    readonly env: Readonly<Record<string, string>>
    readonly cwd?: string
  } | null
  /** Credentials for getting access tokens: with the refresh token if there is one, else as the client itself. */
  readonly oauth: {
    readonly clientId: string
    /** Undefined for a public client, which has a refresh token. */
    readonly clientSecret?: string
    readonly refreshToken?: string
    readonly scope?: string
    /** The only authorization server to which the secret is sent. */
    readonly issuer: string
  } | null
}
