// Plain JavaScript, so that an older Node can say what is wrong instead of stumbling over TypeScript.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `holdpoint: Node ${process.versions.node} is too old, 22.18 or later is needed: run "npm ci" with install scripts allowed, which brings Node 24 along, and then "npm start".\n`,
  )
  process.exitCode = 1
} else {
  // The second start finds the source stripped and compiled: it takes half as long.
  const { enableCompileCache } = await import('node:module')
  enableCompileCache()
  await import('../src/main.ts')
}
