import { cp, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

import { StartError } from '../util/start-error.ts'

const template = fileURLToPath(new URL('../../templates/project/', import.meta.url))

/** The command `init`: writes a project with a tool, an agent and a script. Returns the lines to print. */
export async function writeProject(folder: string, { version }: { readonly version: string }): Promise<string[]> {
  const target = resolve(folder)
  const there = await readdir(target).catch(() => [])
  if (there.length > 0)
    throw new StartError(`${target} is not empty: name another folder, such as "holdpoint init my-agents".`)
  await mkdir(target, { recursive: true })
  await cp(template, target, { recursive: true })
  // npm excludes files of this name from packages.
  await rename(join(target, 'gitignore'), join(target, '.gitignore'))
  const manifest = join(target, 'package.json')
  const { dependencies, ...rest } = JSON.parse(await readFile(manifest, 'utf8')) as { dependencies: object }
  const named = {
    ...rest,
    name: packageName(basename(target)),
    dependencies: { ...dependencies, holdpoint: `^${version}` },
  }
  await writeFile(manifest, `${JSON.stringify(named, null, 2)}\n`)
  return [
    `Wrote a project to ${target}. Next:`,
    `  cd ${folder}`,
    '  npm install',
    '  npm start          the server, with its console at http://127.0.0.1:4000',
    '  npm run chat       in another terminal: a message, and a call that waits for you',
  ]
}

function packageName(folder: string): string {
  return (
    folder
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]+/g, '-')
      .replaceAll(/^-+|-+$/g, '') || 'agents'
  )
}
