import { createApp } from '../src/app.ts'
import { readConfig } from '../src/config/config.ts'
import { openDatabase } from '../src/store/database/open-database.ts'
import { createLog } from '../src/util/log.ts'
import { tourProvider, tourTools } from './demo-model.ts'

/**
 * A worker process of the tour. It loads everything, and drives runs as soon as its parent tells it to. It stops when
 * its parent disconnects or is killed.
 */
const log = createLog('fatal')
const database = await openDatabase(process.argv[2]!, { log })
const app = await createApp({
  config: readConfig({ LOG_LEVEL: 'fatal', HOLDPOINT_DRAIN_MS: '0' }),
  ...{ database, log },
  role: 'worker',
  tools: tourTools,
  providers: [tourProvider],
})
process.once('message', () => void app.start().then(() => process.send!('started')))
process.once('disconnect', () => void stop())
if (process.connected) process.send!('loaded')
else await stop()

async function stop(): Promise<void> {
  await app.stop()
  await database.close()
  process.exit()
}
