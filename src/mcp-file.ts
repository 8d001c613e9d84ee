import type { ConfiguredMcpServer } from './domain/tools/mcp-server.ts'
import { readConfigFile } from './config-file.ts'
import { isJsonObject, type Json, type JsonObject } from './util/json.ts'
import { StartError } from './util/start-error.ts'

const shared = ['requiresApproval']
const local = ['command', 'args', 'env', 'envVariables', 'cwd', ...shared]
const remote = ['url', 'headers', 'tokenVariable', 'oauth', ...shared]
const oauthFields = [
  ...['clientId', 'clientSecret', 'clientSecretVariable', 'refreshToken', 'refreshTokenVariable'],
  ...['scope', 'issuer'],
]

type Variables = Readonly<Record<string, string | undefined>>

/**
 * The MCP servers in a file: JSON or YAML, an object with one entry per name under `servers`. Only this file can name a
 * command: whoever may use the API must not be able to start programs on this machine.
 */
export function readMcpFile(path: string, variables: Variables): ConfiguredMcpServer[] {
  const file = readConfigFile('HOLDPOINT_MCP', path)
  const entries = isJsonObject(file) ? file['servers'] : undefined
  if (!isJsonObject(entries))
    throw new StartError(`${path} must be an object with the key "servers": an object with one entry per name.`)
  return Object.entries(entries).map(([name, entry]) => {
    const wrong = (message: string) => new StartError(`The MCP server ${JSON.stringify(name)} in ${path}: ${message}`)
    if (name.trim() === '' || name.length > 64) throw wrong('the name must have 1 to 64 characters.')
    if (!isJsonObject(entry)) throw wrong('it must be an object.')
    return readServer(name, entry, { variables, wrong })
  })
}

interface Reading {
  readonly variables: Variables
  readonly wrong: (message: string) => StartError
}

function readServer(name: string, entry: JsonObject, reading: Reading): ConfiguredMcpServer {
  const { wrong } = reading
  if ('command' in entry === 'url' in entry) throw wrong('it needs either a "command" or a "url".')
  const known = 'command' in entry ? local : remote
  checkFields(entry, known, wrong)
  const requiresApproval = entry['requiresApproval'] ?? false
  if (typeof requiresApproval !== 'boolean') throw wrong('"requiresApproval" must be true or false.')
  return 'command' in entry
    ? { name, requiresApproval, url: `stdio:${name}`, headers: {}, launch: readLaunch(entry, reading), oauth: null }
    : { name, requiresApproval, launch: null, ...readRemote(entry, reading) }
}

function readLaunch(entry: JsonObject, { variables, wrong }: Reading): ConfiguredMcpServer['launch'] {
  const { command, args = [], env = {}, envVariables = [], cwd } = entry
  if (typeof command !== 'string' || command === '') throw wrong('"command" must be a text.')
  if (!isTexts(args)) throw wrong('"args" must be a list of texts.')
  if (!isTextObject(env)) throw wrong('"env" must be an object of texts.')
  if (!isTexts(envVariables)) throw wrong('"envVariables" must be a list of names of variables.')
  if (cwd !== undefined && typeof cwd !== 'string') throw wrong('"cwd" must be the path of a folder.')
  const passed = envVariables.flatMap((name) => (variables[name] === undefined ? [] : [[name, variables[name]]]))
  return { command, args, env: { ...Object.fromEntries(passed), ...env }, ...(cwd !== undefined && { cwd }) }
}

function readRemote(entry: JsonObject, reading: Reading) {
  const { url, headers = {}, oauth } = entry
  const { wrong } = reading
  if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw wrong('"url" must be an address that begins with http:// or https://.')
  if (!isTextObject(headers)) throw wrong('"headers" must be an object of texts.')
  const token = readToken(entry, reading)
  if (oauth === undefined) return { url, headers: { ...headers, ...token }, oauth: null }
  if (token) throw wrong('it takes either "tokenVariable" or "oauth".')
  if (!isJsonObject(oauth)) throw wrong('"oauth" must be an object.')
  return { url, headers, oauth: readOAuth(oauth, reading) }
}

/** An access token that does not expire, for a server that has no authorization server. */
function readToken({ tokenVariable }: JsonObject, { variables, wrong }: Reading) {
  if (tokenVariable === undefined) return undefined
  if (typeof tokenVariable !== 'string') throw wrong('"tokenVariable" must be the name of a variable.')
  const token = variables[tokenVariable]
  if (!token) throw wrong(`it needs its token: ${tokenVariable} is not set.`)
  return { authorization: `Bearer ${token}` }
}

function readOAuth(oauth: JsonObject, { variables, wrong }: Reading): NonNullable<ConfiguredMcpServer['oauth']> {
  checkFields(oauth, oauthFields, wrong)
  const text = (field: string) => {
    const value = oauth[field]
    if (value !== undefined && typeof value !== 'string') throw wrong(`"oauth.${field}" must be a text.`)
    return value
  }
  const secret = (field: string) => {
    const variable = text(`${field}Variable`)
    const value = text(field) ?? (variable === undefined ? undefined : variables[variable])
    if (variable !== undefined && !value) throw wrong(`"oauth" needs its "${field}": ${variable} is not set.`)
    return value
  }
  const clientId = text('clientId')
  const [clientSecret, refreshToken, scope] = [secret('clientSecret'), secret('refreshToken'), text('scope')]
  if (!clientId || !(clientSecret || refreshToken)) {
    throw wrong(
      '"oauth" needs its "clientId", and a "clientSecret" or a "refreshToken" (or the variable that holds it: "clientSecretVariable", "refreshTokenVariable").',
    )
  }
  const issuer = text('issuer')
  // Without it, the MCP server would decide who is sent the secret.
  if (!issuer) throw wrong('"oauth" needs its "issuer": the address of the authorization server.')
  const optional = {
    ...(clientSecret && { clientSecret }),
    ...(refreshToken && { refreshToken }),
    ...(scope && { scope }),
  }
  return { clientId, issuer, ...optional }
}

function checkFields(entry: JsonObject, known: readonly string[], wrong: Reading['wrong']): void {
  const unknown = Object.keys(entry).find((field) => !known.includes(field))
  if (unknown !== undefined) throw wrong(`there is no field "${unknown}". Use: ${known.join(', ')}.`)
}

function isTexts(value: Json): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}

function isTextObject(value: Json): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.values(value).every((entry) => typeof entry === 'string')
}
