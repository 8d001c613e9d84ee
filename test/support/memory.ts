import { execFile } from 'node:child_process'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const folder = '/dev/shm'

/** A test run writes 2 GB: two hundred databases, a dozen clusters, an installed package. */
const enoughBytes = 6 * 2 ** 30

/**
 * A folder in memory with enough space, from which programs may run. Creating a database there takes a tenth of the
 * time.
 */
export async function findMemory(): Promise<string | undefined> {
  const space = await statfs(folder).catch(() => undefined)
  const free = space === undefined ? 0 : space.bavail * space.bsize
  const isEnough = Math.min(free, process.availableMemory()) >= enoughBytes
  return isEnough && (await mayRun()) ? folder : undefined
}

async function mayRun(): Promise<boolean> {
  const place = await mkdtemp(join(folder, 'holdpoint-test-'))
  try {
    const program = join(place, 'program')
    await writeFile(program, '#!/bin/sh\n', { mode: 0o755 })
    await promisify(execFile)(program)
    return true
  } catch {
    return false
  } finally {
    await rm(place, { recursive: true })
  }
}
