// Builds the console after `npm ci`. Plain JavaScript. Does nothing if the build tools are not installed: a production
// install (`npm ci --omit=dev`) uses the console of the package, or serves without one.
import { existsSync } from 'node:fs'

const has = (name) => existsSync(new URL(`../node_modules/${name}/package.json`, import.meta.url))
const [major] = process.versions.node.split('.').map(Number)

if (!has('vite') || !has('react')) console.log('The console was not built: development dependencies are not installed.')
else if (major < 22) console.log('The console was not built: Node 22 or later is needed. Run `npm run build:console`.')
else await import('./build-console.ts')
