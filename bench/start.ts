import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../bin/holdpoint.mjs', import.meta.url))

interface Start {
  readonly readyMs: number
  /** Memory of the server's own process a few seconds later, without Postgres. */
  readonly idleMb: number
}

/** How long `npm start` takes on an existing data folder, and how much memory the idle server then uses. */
export async function benchStart(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-bench-'))
  try {
    const first = await start(folder)
    const starts: Start[] = []
    for (let round = 0; round < 5; round++) starts.push(await start(folder))
    const median = (values: readonly number[]) => values.toSorted((one, other) => one - other)[2]!
    console.log(
      JSON.stringify({
        bench: 'start',
        firstReadyMs: first.readyMs,
        readyMs: median(starts.map(({ readyMs }) => readyMs)),
        idleMb: median(starts.map(({ idleMb }) => idleMb)),
      }),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function start(folder: string): Promise<Start> {
  const startedAt = performance.now()
  const server = spawn(process.execPath, [program], {
    env: { ...process.env, HOLDPOINT_DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(server, 'exit')
  const failed = ended.then(() => {
    throw new Error('The server ended before it was ready.')
  })
  await Promise.race([once(server.stdout, 'data'), failed])
  failed.catch(() => {})
  const readyMs = Math.round(performance.now() - startedAt)
  await sleep(5_000)
  const idleKb = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(server.pid)], { encoding: 'utf8' }))
  server.kill('SIGTERM')
  await ended
  return { readyMs, idleMb: Math.round(idleKb / 1024) }
}
