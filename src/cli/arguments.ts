import { parseArgs } from 'node:util'

export type Command =
  | { readonly name: 'serve' | 'worker' | 'help' | 'version' }
  /** `check` only reports what would be done. */
  | { readonly name: 'migrate'; readonly check: boolean }
  /** `tenant` is undefined for the default tenant. */
  | { readonly name: 'signing-secret'; readonly tenant: string | undefined }
  | { readonly name: 'init'; readonly folder: string }
  | KeysCommand
  /** `message` is the line that says what is wrong with the command line. */
  | { readonly name: 'wrong'; readonly message: string }

/** `tenant` is undefined for the default tenant. */
export type KeysCommand = { readonly name: 'keys'; readonly tenant: string | undefined } & (
  | {
      readonly action: 'create'
      readonly keyName: string
      readonly scopes: readonly string[]
      readonly expires: string | undefined
    }
  | { readonly action: 'list' }
  | { readonly action: 'revoke'; readonly id: string }
)

const commands = ['serve', 'worker', 'migrate', 'init', 'keys', 'signing-secret'] as const
const options = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  tenant: { type: 'string' },
  name: { type: 'string' },
  scopes: { type: 'string' },
  expires: { type: 'string' },
  check: { type: 'boolean' },
} as const

interface Flags {
  readonly tenant?: string | undefined
  readonly name?: string | undefined
  readonly scopes?: string | undefined
  readonly expires?: string | undefined
  readonly check?: boolean | undefined
}

export function parseCommand(args: readonly string[]): Command {
  try {
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options })
    const { help, version, ...flags } = values
    if (help || positionals[0] === 'help') return { name: 'help' }
    if (version) return { name: 'version' }
    return toCommand(positionals, flags)
  } catch (error) {
    // The messages of parseArgs have several sentences. The first one says what is wrong.
    return wrong((error as Error).message.split('. ')[0] ?? '')
  }
}

function toCommand([given = 'serve', ...rest]: readonly string[], flags: Flags): Command {
  const name = commands.find((known) => known === given)
  if (name === undefined) return wrong(`There is no command "${given}"`)
  if (name === 'keys') return toKeysCommand(rest, flags)
  if (name === 'init') return toInitCommand(rest, flags)
  if (rest[0] !== undefined) return wrong(`The command ${name} takes no argument, and "${rest[0]}" was given`)
  const taken = { 'signing-secret': 'tenant', migrate: 'check', serve: undefined, worker: undefined }[name]
  const flag = Object.keys(flags).find((given) => given !== taken)
  if (flag !== undefined) return wrong(`The command ${name} takes no --${flag}`)
  if (name === 'signing-secret') return { name, tenant: flags.tenant }
  return name === 'migrate' ? { name, check: flags.check ?? false } : { name }
}

function toInitCommand([folder = 'agents', extra]: readonly string[], flags: Flags): Command {
  if (extra !== undefined) return wrong(`The command init takes one folder, and "${extra}" was given too`)
  const flag = Object.keys(flags)[0]
  return flag === undefined ? { name: 'init', folder } : wrong(`The command init takes no --${flag}`)
}

function toKeysCommand([action, id, extra]: readonly string[], { tenant, ...flags }: Flags): Command {
  const name = 'keys'
  if (action === 'create') {
    if (id !== undefined) return wrong(`The command keys create takes no argument, and "${id}" was given`)
    if (!flags.name) return wrong('The command keys create needs --name NAME')
    if (!flags.scopes) return wrong('The command keys create needs --scopes, such as --scopes READ,RUN')
    const scopes = flags.scopes.split(',').map((scope) => scope.trim().toUpperCase())
    return { name, action, tenant, keyName: flags.name, scopes, expires: flags.expires }
  }
  const flag = Object.keys(flags)[0]
  if (flag !== undefined) return wrong(`The command keys ${action ?? ''} takes no --${flag}`)
  if (action === 'list' && id === undefined) return { name, action, tenant }
  if (action === 'revoke' && id !== undefined && extra === undefined) return { name, action, tenant, id }
  return wrong('The command keys needs one of: create --name NAME --scopes READ,RUN; list; revoke ID')
}

function wrong(what: string): Command {
  return { name: 'wrong', message: `${what}: see --help.` }
}
