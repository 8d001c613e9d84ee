import { parseArgs } from 'node:util'

export type Command =
  | { readonly name: 'serve' | 'worker' | 'migrate' | 'keys' | 'help' | 'version' }
  /** Undefined: the tenant that exists without anyone having made it. */
  | { readonly name: 'signing-secret'; readonly tenant: string | undefined }
  /** The line that tells what was wrong with the command line. */
  | { readonly name: 'wrong'; readonly message: string }

const commands = ['serve', 'worker', 'migrate', 'keys', 'signing-secret'] as const

export function parseCommand(args: readonly string[]): Command {
  // Its flags come with the command itself.
  if (args[0] === 'keys' && !args.includes('--help')) return { name: 'keys' }
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
        tenant: { type: 'string' },
      },
    })
    if (values.help || positionals[0] === 'help') return { name: 'help' }
    if (values.version) return { name: 'version' }
    const [given = 'serve', extra] = positionals
    const name = commands.find((known) => known === given)
    if (name === undefined) return wrong(`There is no command "${given}"`)
    if (extra !== undefined) return wrong(`The command ${name} takes no argument, and "${extra}" was given`)
    if (name === 'signing-secret') return { name, tenant: values.tenant }
    if (values.tenant !== undefined) return wrong(`The command ${name} takes no --tenant`)
    return { name }
  } catch (error) {
    // parseArgs explains itself in several sentences; the first says what was wrong.
    return wrong((error as Error).message.split('. ')[0] ?? '')
  }
}

function wrong(what: string): Command {
  return { name: 'wrong', message: `${what}: see --help.` }
}
