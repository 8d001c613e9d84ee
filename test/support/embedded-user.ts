/** Runs as a separate process: uses the embedded Postgres of the given folder until its input ends. */
import { startEmbeddedPostgres } from '../../src/store/database/embedded/launch.ts'
import { createLog } from '../../src/util/log.ts'

const postgres = await startEmbeddedPostgres({
  dataDir: process.argv[2]!,
  log: createLog('warn'),
  settings: { fsync: 'off' },
})
console.log(postgres.url)
process.stdin.on('end', () => void postgres.stop()).resume()
