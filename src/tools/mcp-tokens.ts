import {
  ClientCredentialsProvider,
  type ClientCredentialsProviderOptions,
} from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'

import type { ConfiguredMcpServer } from '../domain/tools/mcp-server.ts'

export type McpOAuth = NonNullable<ConfiguredMcpServer['oauth']>

/**
 * The credentials for access tokens of each server, and the tokens themselves, which the connections of one process
 * share.
 */
export type McpTokens = WeakMap<McpOAuth, ClientCredentialsProvider>

export function tokensFor(known: McpTokens, oauth: McpOAuth): ClientCredentialsProvider {
  const provider = known.get(oauth) ?? createProvider(oauth)
  known.set(oauth, provider)
  return provider
}

function createProvider({ issuer, refreshToken, ...client }: McpOAuth): ClientCredentialsProvider {
  const options = {
    ...client,
    clientSecret: client.clientSecret ?? '',
    clientName: 'holdpoint',
    expectedIssuer: issuer,
  }
  const provider =
    refreshToken === undefined
      ? new ClientCredentialsProvider(options)
      : new RefreshTokenProvider(options, refreshToken)
  // A client without a secret is a public client, which only sends its id.
  if (client.clientSecret === undefined) provider.saveClientInformation({ client_id: client.clientId, issuer })
  return provider
}

/** Gets access tokens for a person who has consented before, with the refresh token from that consent. */
class RefreshTokenProvider extends ClientCredentialsProvider {
  #refreshToken: string

  constructor(options: ClientCredentialsProviderOptions & { readonly expectedIssuer: string }, refreshToken: string) {
    super(options)
    this.#refreshToken = refreshToken
  }

  /** An authorization server may replace the refresh token each time. */
  override saveTokens(tokens: OAuthTokens): void {
    this.#refreshToken = tokens.refresh_token ?? this.#refreshToken
    super.saveTokens(tokens)
  }

  override prepareTokenRequest(scope?: string): URLSearchParams {
    const params = { grant_type: 'refresh_token', refresh_token: this.#refreshToken }
    return new URLSearchParams({ ...params, ...(scope !== undefined && { scope }) })
  }
}
