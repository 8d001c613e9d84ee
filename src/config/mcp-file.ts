import type { ConfiguredMcpServer } from '../domain/tools/mcp-server.ts'
import { isJsonObject } from '../util/json.ts'
import { entries, filledText, flag, list, object, optional, text, variable, webAddress, type Shape } from './file.ts'

const program = object({
  command: filledText,
  args: optional(list(text)),
  env: optional(entries(text)),
  envVariables: optional(list(text)),
  cwd: optional(text),
  requiresApproval: optional(flag),
})

const remote = object({
  url: webAddress,
  headers: optional(entries(text)),
  tokenVariable: optional(variable),
  oauth: optional(readOAuth),
  requiresApproval: optional(flag),
})

const oauth = object({
  clientId: filledText,
  clientSecret: optional(filledText),
  clientSecretVariable: optional(variable),
  refreshToken: optional(filledText),
  refreshTokenVariable: optional(variable),
  scope: optional(filledText),
  // Without it, the MCP server would decide who is sent the secret.
  issuer: filledText,
})

function readOAuth(place: Parameters<Shape<unknown>>[0]): NonNullable<ConfiguredMcpServer['oauth']> {
  const { clientSecretVariable, refreshTokenVariable, ...given } = oauth(place)
  const clientSecret = given.clientSecret ?? clientSecretVariable
  const refreshToken = given.refreshToken ?? refreshTokenVariable
  if (clientSecret === undefined && refreshToken === undefined)
    throw place.wrong(
      'needs a "clientSecret" or a "refreshToken" (or the variable that holds it: "clientSecretVariable", "refreshTokenVariable")',
    )
  return {
    ...given,
    ...(clientSecret !== undefined && { clientSecret }),
    ...(refreshToken !== undefined && { refreshToken }),
  }
}

const server: Shape<ConfiguredMcpServer> = (place) => {
  const { key: name, value, environment } = place
  if (name.trim() === '' || name.length > 64) throw place.wrong('must have a name of 1 to 64 characters')
  if (!isJsonObject(value) || 'command' in value === 'url' in value)
    throw place.mustBe('an object with either a "command" or a "url"')
  if ('command' in value) {
    const { requiresApproval = false, env, envVariables = [], args = [], ...launch } = program(place)
    const passed = envVariables.flatMap((key) => (environment[key] === undefined ? [] : [[key, environment[key]]]))
    return {
      ...{ name, requiresApproval, url: `stdio:${name}`, headers: {}, oauth: null },
      launch: { ...launch, args, env: { ...Object.fromEntries(passed), ...env } },
    }
  }
  const { requiresApproval = false, url, headers, tokenVariable: token, oauth = null } = remote(place)
  if (token !== undefined && oauth) throw place.wrong('takes either "tokenVariable" or "oauth"')
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return { name, requiresApproval, url, launch: null, headers: { ...headers, ...authorization }, oauth }
}

/**
 * The file HOLDPOINT_MCP. Only this file can name a command: whoever may use the API must not be able to start programs
 * on this machine.
 */
export const mcpFile: Shape<readonly ConfiguredMcpServer[]> = (place) =>
  Object.values(object({ servers: entries(server) })(place).servers)
