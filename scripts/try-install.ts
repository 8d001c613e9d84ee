import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Installs the package as a stranger does: from its tarball and the registry, into an empty folder, with an empty home
 * and an empty npm cache. Then serves with `npx holdpoint`, follows `npx holdpoint init` to its last step, and prints
 * how long each took, how large the installation is and what npm warned about. Needs the network, so it is no test.
 */
const root = fileURLToPath(new URL('../', import.meta.url))
const folder = await mkdtemp(join(await realpath(tmpdir()), 'holdpoint-install-'))
const env = {
  // npm runs on the Node of this process, whatever is installed beside it.
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
  NODE_EXTRA_CA_CERTS: process.env['NODE_EXTRA_CA_CERTS'],
  HOME: join(folder, 'home'),
  npm_config_cache: join(folder, 'cache'),
  npm_config_yes: 'true',
}
const running = new Set<ChildProcess>()

function start(command: string, cwd: string, more: Record<string, string> = {}) {
  const child = spawn('/bin/sh', ['-c', command], { cwd, env: { ...env, ...more }, stdio: 'pipe', detached: true })
  running.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const closed = once(child, 'close').then(([code]) => (running.delete(child), code as number | null))
  return {
    child,
    closed,
    output: () => output,
    async prints(pattern: RegExp): Promise<string> {
      for (;;) {
        const found = pattern.exec(output)
        if (found) return found[0]
        const ended = closed.then(() => true)
        const isOver = await Promise.race([ended, once(child.stdout, 'data').then(() => false)])
        if (isOver && !pattern.test(output)) throw new Error(`"${command}" ended without ${pattern}:\n${output}`)
      }
    },
    async stop(): Promise<void> {
      process.kill(-child.pid!, 'SIGTERM')
      const code = await closed
      if (code !== 0 && code !== null) throw new Error(`"${command}" ended with ${code}:\n${output}`)
    },
  }
}

async function run(command: string, cwd: string): Promise<string> {
  const began = performance.now()
  const started = start(command, cwd)
  started.child.stdin.end()
  const code = await started.closed
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(`${seconds.padStart(6)} s  ${command.replaceAll(folder, '…')}`)
  const warnings = started.output().match(/^npm (warn|error).*$/gim) ?? []
  for (const warning of warnings) console.log(`          ${warning}`)
  if (code !== 0) throw new Error(`"${command}" ended with ${code}:\n${started.output()}`)
  return started.output()
}

async function ask(url: string, query: string): Promise<any> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  return response.json()
}

async function tryPackage(tarball: string): Promise<void> {
  const empty = join(folder, 'empty')
  await mkdir(empty)
  await run(`npm install ${tarball}`, empty)
  const [kilobytes] = (await run('du -sk node_modules', empty)).split('\t')
  const megabytes = Number(kilobytes) / 1024
  console.log(`          node_modules: ${megabytes.toFixed(0)} MB`)
  if (megabytes >= 300) throw new Error('The installation takes 300 MB or more.')
  const began = performance.now()
  const server = start('npx holdpoint', empty, { PORT: '0' })
  const url = (await server.prints(/ready \S+/)).split(' ')[1]!
  console.log(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  npx holdpoint serves`)
  const { data } = await ask(url, '{ viewer { __typename } }')
  if (data?.viewer?.__typename !== 'Viewer') throw new Error('The server does not answer.')
  const page = await fetch(new URL('/', url), { headers: { accept: 'text/html' } })
  if (!(await page.text()).includes('<script')) throw new Error('The server has no console.')
  await server.stop()
}

async function tryProject(tarball: string): Promise<void> {
  await run('npx holdpoint init ../my-agents', join(folder, 'empty'))
  const project = join(folder, 'my-agents')
  const manifest = join(project, 'package.json')
  // The version may not be in the registry yet.
  const text = await readFile(manifest, 'utf8')
  await writeFile(manifest, text.replace(/"holdpoint": "[^"]*"/, `"holdpoint": "file:${tarball}"`))
  await run('npm install', project)
  await run('npm run check', project)
  const server = start('npm start', project, { PORT: '0' })
  const url = (await server.prints(/http:\/\/127\.0\.0\.1:\d+\/graphql/)).trim()
  const chat = start('npm run chat', project, { HOLDPOINT_URL: url })
  await chat.prints(/approve\? \[y\/n\]/)
  chat.child.stdin.write('y\n')
  await chat.prints(/COMPLETED/)
  console.log(chat.output().replaceAll(/^(?!>.*\n)/gm, '          '))
  if ((await chat.closed) !== 0) throw new Error('The chat failed.')
  await server.stop()
}

try {
  await mkdir(env.HOME)
  await run(`npm pack --silent --pack-destination ${folder}`, root)
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  const tarball = join(folder, `holdpoint-${version}.tgz`)
  await tryPackage(tarball)
  await tryProject(tarball)
  console.log('the installation works')
} finally {
  for (const child of running) process.kill(-child.pid!, 'SIGKILL')
  await rm(folder, { recursive: true, force: true })
}
