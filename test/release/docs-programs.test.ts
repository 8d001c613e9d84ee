import { execFile, spawn, spawnSync } from 'node:child_process'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { fileOf, hasJsx, isOfGenerator, programsOfPages } from '../support/docs.ts'
import { talkTo } from '../support/talk.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What the package exports, as its source. */
const sources = {
  holdpoint: 'src/index.ts',
  'holdpoint/client': 'client/index.ts',
  'holdpoint/react': 'react/index.ts',
  'holdpoint/ai-sdk': 'adapters/ai-sdk.ts',
  'holdpoint/ag-ui': 'adapters/ag-ui.ts',
}

const programs = (await programsOfPages('js', 'ts', 'tsx')).filter((program) => !isOfGenerator(program))

let folder: string
let app: TestApp
let agentId: string
let conversationId: string

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  app = await startTestApp()
  const talk = talkTo(app)
  agentId = await talk.createAgent({ model: 'demo/scripted' })
  await talk.settled(await talk.start(agentId, 'hello'))
  const data = await app.data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', { id: agentId })
  conversationId = data.agent.mainConversation.id
})
afterAll(() => app.stop())

/** Programs that do not end by themselves, by a part of their text, with what they print when they work. */
const staying: Readonly<Record<string, { readonly append?: string; readonly prints: RegExp }>> = {
  'createApp({ tools: [add] })': { append: 'console.log(url)', prints: /^http.*\/graphql$/m },
  'new Webhook(': { prints: /^ready$/m },
  'followConversation(client': { prints: /kind: 'message'/ },
}
/** What is done with programs that only define something. */
const using: Readonly<Record<string, string>> = {
  'export function Chat': `import { createElement } from 'react'
    import { renderToString } from 'react-dom/server'
    renderToString(createElement(Chat, { id: 'conv_x' }))`,
}

// DCS60 runs those of the page on embedding, which serve.
for (const block of programs.filter((program) => !hasJsx(program) && program.page !== 'docs/embedding.md')) {
  test(`[DCS5] the program in ${block.page}, line ${block.line} runs`, async () => {
    const stays = Object.entries(staying).find(([part]) => block.text.includes(part))?.[1]
    const use = Object.entries(using).find(([part]) => block.text.includes(part))?.[1]
    const code = [block.text, stays?.append, use].join('\n')
    const file = join(folder, fileOf(block))
    await writeFile(file, readyToRun(code))
    const database = await createTestDatabase()
    const env = {
      ...{ PATH: process.env['PATH'], DATABASE_URL: database.url, PORT: '0', LOG_LEVEL: 'error' },
      WEBHOOK_SECRET: 'whsec_c2VjcmV0',
    }
    const child = spawn(process.execPath, [file], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    const ended = Promise.withResolvers<number | string | null>()
    child.stdout.setEncoding('utf8').on('data', (data) => {
      stdout += data
      if (stays?.prints.test(stdout)) child.kill('SIGKILL')
    })
    child.stderr.setEncoding('utf8').on('data', (data) => (stderr += data))
    child.on('close', (status, signal) => ended.resolve(signal ?? status))
    const end = await ended.promise
    expect({ end, stderr }, stdout).toEqual({ end: stays ? 'SIGKILL' : 0, stderr: '' })
    if (block.text.includes('SubmitApprovals')) expect(stdout).toBe('COMPLETED\n')
    await database.close()
  })
}

/** With the addresses and ids of this test, and the source in place of the package. */
function readyToRun(code: string): string {
  return code
    .replaceAll(/from '(holdpoint[^']*)'/g, (_, name: keyof typeof sources) => `from '${join(root, sources[name])}'`)
    .replaceAll('127.0.0.1:4000', new URL(app.url).host)
    .replaceAll('agent_…', agentId)
    .replaceAll('conv_…', conversationId)
}

test('[DCS5] every program with JSX is an example that runs in a browser (EXA62, EXA66, EXA67)', async () => {
  const names = ['front-ends/assistant-ui.tsx', 'front-ends/copilotkit.tsx', 'react/main.tsx', 'react/chat.tsx']
  const examples = await Promise.all(names.map((name) => readFile(join(root, 'examples', name), 'utf8')))
  for (const example of examples) expect(example.split('\n').length).toBeLessThan(120)
  const shown = examples.map((source) => source.replaceAll(/'[^']+' \/\/ In your app: ('[^']+')/g, '$1').trim())
  expect(
    programs
      .filter(hasJsx)
      .map(({ text }) => text)
      .toSorted(),
  ).toEqual(shown.toSorted())
})

// Where curl is not installed, its commands cannot be run.
const commands = (await programsOfPages('sh')).filter(({ text }) => text.includes('curl '))
const hasCurl = spawnSync('curl', ['--version']).error === undefined
if (!hasCurl) console.warn('curl is not installed, so the commands of the documentation are not run')

test.skipIf(!hasCurl).each(commands)('[DCS5] the commands in $page, line $line, run', async ({ text }) => {
  const { stdout } = await promisify(execFile)('sh', ['-ec', readyToRun(text)])
  expect(stdout).toMatch(/"id":"agent_|Hello, world\.|"status":"COMPLETED"/)
  expect(stdout).not.toContain('"errors"')
})

test('[DCS5] the tools of docs/tools.md are called', async () => {
  const [inCode, inSandbox] = programs.filter(
    ({ page, text }) => page === 'docs/tools.md' && /^export default/m.test(text),
  )
  const file = join(folder, 'add.js')
  await writeFile(file, inCode!.text)
  const server = await startTestApp({ env: { HOLDPOINT_TOOLS: file } })
  const talk = talkTo(server)
  const javascript = { source: inSandbox!.text }
  await server.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
    input: { name: 'count', implementation: { javascript } },
  })
  const agent = await talk.createAgent({ model: 'demo/scripted', tools: ['add', 'count'] })
  const run = await talk.settled(await talk.start(agent, 'call add {"a":40,"b":2}\ncall count {"text":"one two"}'))
  const calls = run.steps.flatMap(({ toolCalls }: any) => toolCalls)
  expect(calls.map(({ result }: any) => [result.output, result.stdout])).toEqual([
    ['42', []],
    ['{"words":2}', ['counting']],
  ])
  await server.stop()
})
