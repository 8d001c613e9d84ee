/**
 * `npm run bench`, or `npm run bench -- cancel` for one of them. Each prints its results as lines of JSON, and its
 * progress to stderr. The comparisons with other libraries run only if they are named, because they install them first.
 */
const benches: Readonly<Record<string, () => Promise<void>>> = {
  start: async () => (await import('./start.ts')).benchStart(),
  cancel: async () => (await import('./cancel.ts')).benchCancel(),
  turn: async () => (await import('./turn.ts')).benchTurn(),
  stream: async () => (await import('./stream.ts')).benchStream(),
  memory: async () => (await import('./memory.ts')).benchMemory(),
  peers: async () => (await import('./peers.ts')).benchPeers(),
  quick: async () => (await import('./peers.ts')).benchQuick(),
  archive: async () => (await import('./archive.ts')).benchArchive(),
  cluster: async () => (await import('./cluster.ts')).benchCluster(),
  live: async () => (await import('./live.ts')).benchLive(),
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !(name in benches))
if (unknown.length > 0) {
  console.error(`There is no benchmark named ${unknown.join(', ')}. There are: ${Object.keys(benches).join(', ')}.`)
  process.exit(2)
}
const comparisons = ['peers', 'quick', 'live']
const ofTheProject = Object.keys(benches).filter((name) => !comparisons.includes(name))
for (const name of asked.length > 0 ? asked : ofTheProject) {
  const startedAt = performance.now()
  await benches[name]!()
  console.error(`${name}: took ${Math.round((performance.now() - startedAt) / 1_000)} s`)
}
