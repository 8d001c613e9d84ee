import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { build, type Rolldown } from 'vite'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = join(root, 'node_modules/.cache/test-programs')

/** Large packages that few of the programs load, and only when they are needed. */
const external = [
  /^@(google|aws-sdk|anthropic-ai|modelcontextprotocol|opentelemetry)\//,
  /^@graphql-yoga\/render-graphiql$/,
  /^openai/,
  /^pg-native$/,
  /^redis$/,
]

/** The files of the programs that tests start as processes. */
export interface Programs {
  readonly main: string
  readonly crashServer: string
}

/**
 * Puts each program into one file and a few chunks. Finding and loading the thousand files of the server and its
 * packages takes a processor a second, and the tests start hundreds of servers.
 */
export async function buildPrograms(): Promise<Programs> {
  const built = (await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [{ name: 'keep-addresses', transform: keepAddress }],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      write: false,
      minify: false,
      rolldownOptions: {
        input: { main: 'src/main.ts', crashServer: 'test/support/crash-server.ts' },
        external,
        output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  })) as Rolldown.RolldownOutput
  await mkdir(folder, { recursive: true })
  for (const file of built.output) if (file.type === 'chunk') await store(join(folder, file.fileName), file.code)
  return { main: join(folder, 'main.mjs'), crashServer: join(folder, 'crashServer.mjs') }
}

/** The source looks for migrations, threads and the console next to itself. */
function keepAddress(code: string, id: string): string | undefined {
  if (!code.includes('import.meta.url') || !id.startsWith('/')) return undefined
  return code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
}

/** Replaced in one step, because another process may be reading the file or writing the same one. */
async function store(path: string, code: string): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => undefined)) === code) return
  await writeFile(`${path}.${process.pid}`, code)
  await rename(`${path}.${process.pid}`, path)
}
