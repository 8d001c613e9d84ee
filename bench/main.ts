/**
 * `npm run bench`, or `npm run bench -- cancel` for one of them. Each prints one line of JSON at the end. The
 * comparison with other libraries runs only if it is named, because it installs them first.
 */
const benches: Readonly<Record<string, () => Promise<void>>> = {
  start: async () => (await import('./start.ts')).benchStart(),
  cancel: async () => (await import('./cancel.ts')).benchCancel(),
  turn: async () => (await import('./turn.ts')).benchTurn(),
  stream: async () => (await import('./stream.ts')).benchStream(),
  peers: async () => (await import('./peers.ts')).benchPeers(),
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !(name in benches))
if (unknown.length > 0) {
  console.error(`There is no benchmark named ${unknown.join(', ')}. There are: ${Object.keys(benches).join(', ')}.`)
  process.exit(2)
}
const ofTheProject = Object.keys(benches).filter((name) => name !== 'peers')
for (const name of asked.length > 0 ? asked : ofTheProject) await benches[name]!()
