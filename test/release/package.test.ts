import { spawn, execFile, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { findFreePort } from '../../src/store/database/embedded/postmaster.ts'
import { findPostmaster } from '../../src/store/database/embedded/postmaster-file.ts'
import { createTestDatabase } from '../support/database.ts'
import { findDeadLinks } from '../support/dead-links.ts'
import { fileOf, hasJsx, isOfGenerator, programsOfPages } from '../support/docs.ts'
import { startFakeAnthropic } from '../support/fake-providers/anthropic.ts'
import { startFakeChat } from '../support/fake-providers/chat.ts'
import { startFakeResponses } from '../support/fake-providers/responses.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import {
  compilerEnv,
  installedBytes,
  installedOptions,
  installPackage,
  linkPackage,
  packPackage,
  type Package,
} from '../support/installed-package.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

const root = join(import.meta.dirname, '../..')
const bin = 'node_modules/holdpoint/bin/holdpoint.mjs'

const createAgentMutation = `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }`
const ask = `mutation ($agentId: ID!, $text: String!) {
  sendMessage(input: { to: { agentId: $agentId }, messages: [{ text: $text }], waitMs: 30000 }) {
    ... on SendMessageSuccess { run { status answer } } ... on Refusal { message }
  }
}`

/**
 * Serves in each way: calls a typed tool over HTTP, opens a stream over a WebSocket, and stops. Then starts with
 * mistakes, and ends by itself.
 */
const program = `
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { createApp, defineTool } from 'holdpoint'
import { createClient, followRun } from 'holdpoint/client'
import { createClient as createSocket } from 'graphql-ws'
import { z } from 'zod'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
})
// The output of the program is its own.
const opened = () => process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap')
for (const way of ['start', 'attach']) {
  const app = await createApp({ tools: [add], settings: { PORT: 0, HOLDPOINT_DRAIN_MS: 0 } })
  let url, server
  if (way === 'start') ({ url } = await app.start())
  else {
    const { handler, upgrade } = await app.attach()
    server = createServer((request, response) => request.url === '/mine' ? response.end('mine') : handler(request, response))
    server.on('upgrade', upgrade).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = 'http://127.0.0.1:' + server.address().port + '/graphql'
    if (await (await fetch(new URL('/mine', url))).text() !== 'mine') throw new Error('my own path is gone')
  }
  const socket = createSocket({ url: url.replace('http', 'ws'), retryAttempts: 0 })
  const client = createClient({ url, socket })
  const agent = { name: 'Ada', model: 'demo/scripted', tools: [{ toolName: 'add' }] }
  const { createAgent } = await client.request(${JSON.stringify(createAgentMutation)}, { input: agent })
  const { sendMessage } = await client.request(
    'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }',
    { input: { to: { agentId: createAgent.agent.id }, messages: [{ text: 'call add {"a": 40, "b": 2}' }] } },
  )
  const transcript = await new Promise((onEnd, onError) => followRun(client, sendMessage.run.id, { onEnd, onError }))
  const answer = transcript.state.entries.at(-1).message.text
  await socket.dispose()
  await app.stop()
  await app.stop()
  server?.closeAllConnections()
  if (server) await new Promise((resolve) => server.close(resolve))
  // Connections are closed when the other side has confirmed it.
  for (const deadline = Date.now() + 10_000; opened().length > 0 && Date.now() < deadline; ) await setTimeout(20)
  console.log(JSON.stringify({ way, answer, open: opened() }))
}
const { DATABASE_URL } = process.env
delete process.env.DATABASE_URL
for (const options of [
  { settings: { PROT: 1 } },
  { settings: { PORT: 'x' } },
  { settings: { DATABASE_URL }, tools: [{ name: 'no name', description: '', parameters: { type: 'object' }, run: () => 1 }] },
])
  await createApp(options).catch((error) => console.log(JSON.stringify({ refused: error.message })))
`

describe('the package', () => {
  let folder: string
  let packed: Package
  const inFolder = (...names: string[]) => join(folder, ...names)

  beforeAll(async () => {
    folder = await makeTemporaryFolder()
    packed = await packPackage(folder)
    await installPackage(packed.tarball, folder)
    await writeFile(inFolder('package.json'), '{ "type": "module" }')
  }, 300_000)

  /** Starts a program of the folder with an empty environment. All but the first find the package compiled. */
  function start(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    { command = process.execPath, ...options }: { command?: string; cwd?: string; detached?: boolean } = {},
  ) {
    const compiled = { NODE_COMPILE_CACHE: inFolder('compiled') }
    const child = spawn(command, args, {
      cwd: folder,
      ...options,
      env: { PATH: process.env['PATH'], LOG_LEVEL: 'error', PORT: '0', ...compiled, ...installedOptions, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (data) => (stdout += data))
    child.stderr.setEncoding('utf8').on('data', (data) => (stderr += data))
    const ended = once(child, 'close').then(([code]) => ({ code, stdout, stderr }))
    const shows = async (pattern: RegExp): Promise<void> => {
      await expect.poll(() => stdout + stderr, { timeout: 60_000 }).toMatch(pattern)
    }
    return {
      child,
      ended,
      shows,
      async ready(): Promise<string> {
        await shows(/^ready \S+/m)
        return /^ready (\S+)/m.exec(stdout)![1]!
      },
    }
  }

  /** Checks the types of a project in the folder. */
  async function compile(project: string, ...options: string[]): Promise<void> {
    const compiler = join(root, 'node_modules/.bin/tsc')
    await run(compiler, ['-p', project, ...options], { cwd: folder, env: compilerEnv }).catch((error: unknown) => {
      throw new Error((error as { stdout: string }).stdout)
    })
  }

  async function linkTypes(): Promise<void> {
    for (const name of ['zod', '@types/node', 'undici-types']) await linkPackage(name, folder).catch(() => {})
  }

  it('[PKG1] has compiled code with types and source maps, the console, the migrations and the documentation, and nothing else', () => {
    const paths = packed.files.map(({ path }) => path)
    const strays = paths.filter((path) => !/^dist\/.+\.(js|js\.map|d\.ts)$/.test(path))
    const others = strays.filter((path) => !/^(dist\/(console\/dist|templates)|docs|examples)\//.test(path))
    expect(others.toSorted()).toEqual([
      'ARCHITECTURE.md',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bench/README.md',
      'bin/holdpoint.mjs',
      'dist/package.json',
      'package.json',
      'possible-types.json',
      'schema.graphql',
      'subgraph.graphql',
      'test/SPEC.md',
    ])
    for (const path of [
      'dist/src/main.js.map',
      'dist/src/index.d.ts',
      'dist/migrations/0001_tenants.js',
      'dist/console/dist/index.html',
    ])
      expect(paths).toContain(path)
    expect(paths.filter((path) => /test|bench|scripts\//.test(path))).toEqual(['bench/README.md', 'test/SPEC.md'])
    expect(packed.size).toBeLessThan(5_000_000)
  })

  it('[PKG62] every relative link of its Markdown files has a target in it', async () => {
    const pages = packed.files.map(({ path }) => path).filter((path) => path.endsWith('.md'))
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/quick-start.md', 'examples/README.md']))
    expect(await findDeadLinks(inFolder('node_modules/holdpoint'), pages)).toEqual([])
  })

  it('[PKG63] has types that depend on no library but those that its users name themselves', async () => {
    const types = packed.files.map(({ path }) => path).filter((path) => path.endsWith('.d.ts'))
    const libraries = new Set<string>()
    for (const path of types) {
      const text = await readFile(inFolder('node_modules/holdpoint', path), 'utf8')
      for (const [, name] of text.matchAll(/(?:from |import\()['"]([^.'"][^'"]*)['"]/g)) libraries.add(name!)
    }
    expect([...libraries].filter((name) => !isBuiltin(name)).toSorted()).toEqual([
      '@standard-schema/spec',
      'ai',
      'react',
    ])
  })

  it('[PKG60] leaves the one copy of graphql to the project that installs it', async () => {
    const manifest = JSON.parse(await readFile(join(folder, 'node_modules/holdpoint/package.json'), 'utf8'))
    expect(manifest.dependencies).not.toHaveProperty('graphql')
    expect(manifest.peerDependencies.graphql).toMatch(/^\^16\./)
    expect(manifest.peerDependenciesMeta).not.toHaveProperty('graphql')
  })

  it('[PKG2] takes less than 300 MB when it is installed', async () => {
    expect(await installedBytes(folder)).toBeLessThan(300_000_000)
  })

  it('[PKG3] serves from an empty folder: database, console, tools in a sandbox, every model SDK', async () => {
    const fakes = [await startFakeResponses(), await startFakeChat(), await startFakeAnthropic()]
    const env = Object.assign({ HOLDPOINT_DATA_DIR: inFolder('data') }, ...fakes.map((fake) => fake.env))
    const server = start([bin], env)
    const client = createGraphQLClient(await server.ready())
    expect(await (await fetch(new URL('/', client.url))).text()).toContain('<div id="root">')

    const tool = {
      name: 'double',
      description: 'Doubles.',
      parameters: { type: 'object' },
      implementation: { javascript: { source: 'export default ({ n }) => n * 2' } },
    }
    await client.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
      input: tool,
    })
    const answers = ['demo/scripted', ...fakes.map(({ handle }) => handle)].map(async (model, index) => {
      const agent = { name: model, model, includeBaseTools: false, tools: [{ toolName: 'double' }] }
      const { createAgent } = await client.data(createAgentMutation, { input: agent })
      const asked = client.data(ask, { agentId: createAgent.agent.id, text: 'call double {"n": 21}' })
      const call = await fakes[index - 1]?.nextCall()
      call?.say('fine')
      call?.finish()
      return (await asked).sendMessage.run
    })
    const [demo, ...others] = await Promise.all(answers)
    expect(demo).toEqual({ status: 'COMPLETED', answer: expect.stringContaining('42') })
    expect(others).toEqual(fakes.map(() => ({ status: 'COMPLETED', answer: 'fine' })))

    server.child.kill('SIGTERM')
    expect(await server.ended).toMatchObject({ code: 0, stderr: '' })
    for (const fake of fakes) await fake.stop()
  })

  it('[PKG4] on an older Node it prints one line that says what is needed', async () => {
    const older = `data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } })`
    const { code, stdout, stderr } = await start(['--import', older, bin]).ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(
      'holdpoint: Node 20.20.2 is too old, 22.18 or later is needed: install a newer Node and try again.\n',
    )
  })

  describe('a program', () => {
    let said: readonly any[]
    beforeAll(async () => {
      const database = await createTestDatabase()
      await linkPackage('zod', folder).catch(() => {})
      await writeFile(inFolder('program.js'), program)
      const { code, stdout, stderr } = await start(['program.js'], { DATABASE_URL: database.url }).ended
      // It ends by itself, which it could not do if an app that has stopped or failed to start left anything open.
      expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' })
      said = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      await database.close()
    })

    it('[PKG5] serves with `start` or `attach`, and after `stop` nothing is open', () => {
      expect(said.filter(({ way }) => way)).toEqual(
        ['start', 'attach'].map((way) => ({ way, answer: expect.stringContaining('"sum":42'), open: [] })),
      )
    })

    it('[PKG6] gets its settings checked, and a start that fails leaves nothing open', () => {
      expect(said.flatMap(({ refused }) => refused ?? [])).toEqual([
        expect.stringContaining('There is no setting "PROT" in createApp({ settings }). The nearest one is "PORT".'),
        expect.stringContaining('PORT is "x", but must be a whole number'),
        expect.stringContaining('The tool no name cannot be registered'),
      ])
    })
  })

  it('[DCS60] the programs of docs/embedding.md compile, serve and end', async () => {
    const page = await readFile(join(root, 'docs/embedding.md'), 'utf8')
    const programs = [...page.matchAll(/^```ts\n\/\/ (\S+)\n([^]*?)^```$/gm)]
    expect(programs.map(([, name]) => name)).toEqual(['server.ts', 'own-server.ts', 'in-process.ts'])
    const port = await findFreePort()
    await mkdir(inFolder('embedding'))
    for (const [, name, text] of programs)
      await writeFile(inFolder('embedding', name!), text!.replaceAll('8080', String(port)))
    await copyFile(join(root, 'templates/project/tsconfig.json'), inFolder('embedding/tsconfig.json'))
    await linkTypes()
    await compile('embedding', '--preserveSymlinks')

    const database = await createTestDatabase()
    for (const [, name] of programs.slice(0, 2)) {
      const server = start([`embedding/${name}`], { DATABASE_URL: database.url })
      const client = createGraphQLClient(await server.ready())
      const { tools } = await client.data('{ tools(filter: { nameContains: "add" }) { nodes { isAvailable } } }')
      // The second program does not have the tool.
      expect(tools.nodes).toEqual([{ isAvailable: name === 'server.ts' }])
      const hello = await fetch(new URL('/hello', client.url))
      expect([hello.status, await hello.text()]).toEqual(
        name === 'server.ts'
          ? [404, expect.stringContaining('There is nothing here')]
          : [200, 'Hello from a page of my own.'],
      )
      server.child.kill('SIGTERM')
      expect(await server.ended).toMatchObject({ code: 0 })
    }
    const alone = await start(['embedding/in-process.ts'], { DATABASE_URL: database.url }).ended
    expect(alone).toMatchObject({ code: 0, stdout: expect.stringMatching(/\w/) })
    await database.close()
  })

  it('[DCS4] the programs of the documentation compile', async () => {
    // The examples have JSX, and are compiled with the console.
    const programs = (await programsOfPages('ts', 'tsx')).filter(
      (program) => !hasJsx(program) && !isOfGenerator(program),
    )
    expect(programs.length).toBeGreaterThan(5)
    for (const name of ['zod', 'ai', '@ai-sdk/react', '@ag-ui/core', '@vitejs/plugin-react', 'vite', 'react'])
      await linkPackage(name, folder).catch(() => {})
    for (const name of ['@types/node', '@types/react', 'undici-types']) await linkPackage(name, folder).catch(() => {})
    await mkdir(inFolder('docs'))
    for (const program of programs) await writeFile(inFolder('docs', fileOf(program)), `${program.text}\nexport {}\n`)
    const forNode = { target: 'esnext', module: 'nodenext', types: ['node'], erasableSyntaxOnly: true }
    const compilerOptions = { ...forNode, lib: ['esnext', 'dom'], strict: true, noEmit: true, skipLibCheck: true }
    await writeFile(inFolder('docs/tsconfig.json'), JSON.stringify({ compilerOptions }))
    await compile('docs')
  })

  it('[PKG7] `init` writes a project whose types are right, whose server starts and whose script runs', async () => {
    const { stdout } = await start([bin, 'init', 'desk']).ended
    expect(stdout).toContain('cd desk')
    expect(JSON.parse(await readFile(inFolder('desk/package.json'), 'utf8'))).toMatchObject({ name: 'desk' })
    expect(await readFile(inFolder('desk/.gitignore'), 'utf8')).toContain('.holdpoint')
    expect((await start([bin, 'init', 'desk']).ended).stderr).toContain('is not empty')

    await linkTypes()
    await compile('desk', '--preserveSymlinks')

    // Nothing listens at the discard port.
    const alone = await start(['desk/chat.ts'], { HOLDPOINT_URL: 'http://127.0.0.1:9/graphql' }).ended
    expect(alone).toEqual({
      code: 1,
      stdout: '',
      stderr: 'http://127.0.0.1:9/graphql: fetch failed. Is "npm start" running, in another terminal?\n',
    })

    const database = await createTestDatabase()
    const server = start(['desk/server.ts'], { DATABASE_URL: database.url })
    const chat = start(['desk/chat.ts'], { HOLDPOINT_URL: await server.ready() })
    await chat.shows(/refund_order \{"orderId":"A-17","amount":250\}\napprove\? \[y\/n\]/)
    chat.child.stdin.end('y\n')
    expect(await chat.ended).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/refunded.*250[^]*COMPLETED/),
    })
    server.child.kill('SIGINT')
    expect(await server.ended).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('refund 250 for A-17'),
    })
    await database.close()
  })

  describe('`npm start` of the project of `init`, with its embedded Postgres', () => {
    const postmaster = () => findPostmaster(inFolder('shop/.holdpoint/postgres'))
    const started: ChildProcess[] = []
    const startProject = () => {
      const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter)
      const project = start(['start'], { PATH }, { command: 'npm', cwd: inFolder('shop'), detached: true })
      started.push(project.child)
      return project
    }

    beforeAll(async () => {
      await start([bin, 'init', 'shop']).ended
      await linkPackage('zod', folder).catch(() => {})
    })
    afterAll(async () => {
      for (const { pid } of started) {
        try {
          process.kill(-pid!, 'SIGKILL')
        } catch {
          // It has ended.
        }
      }
      const left = await postmaster()
      if (left !== undefined) process.kill(left.pid, 'SIGKILL')
    })

    it.each([
      ['SIGTERM to npm', (npm: number) => process.kill(npm, 'SIGTERM')],
      [
        'Ctrl-C, which npm forwards to those who have it already',
        (npm: number) => {
          process.kill(-npm, 'SIGINT')
          process.kill(npm, 'SIGINT')
        },
      ],
    ])('[PKG61] ends with everything that it started: %s', async (_, stop) => {
      const project = startProject()
      await project.shows(/Talk to the agent/)
      expect(await postmaster()).toBeDefined()
      stop(project.child.pid!)
      // Settles when the server, which has the other end of its output, has ended too.
      await project.ended
      expect(await postmaster()).toBeUndefined()
    })

    it('[PKG61] ends with everything that it started: an agent that the server refuses', async () => {
      const file = inFolder('shop/agent.ts')
      await writeFile(file, (await readFile(file, 'utf8')).replace('demo/scripted', 'openai/gpt-5'))
      const { code, stderr } = await startProject().ended
      expect(code).not.toBe(0)
      expect(stderr).toContain('OPENAI_API_KEY is not set')
      expect(await postmaster()).toBeUndefined()
    })
  })
})
