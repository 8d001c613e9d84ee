import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import type * as Yaml from 'yaml'

import type { Json } from './util/json.ts'
import { StartError } from './util/start-error.ts'

/** The content of a JSON or YAML file that an environment variable names. */
export function readConfigFile(variable: string, path: string): Json {
  try {
    // Loaded only if there is a file, which most servers do not have. JSON is valid YAML.
    const { parse } = createRequire(import.meta.url)('yaml') as typeof Yaml
    return parse(readFileSync(path, 'utf8')) as Json
  } catch (error) {
    throw new StartError(`${variable} is "${path}", which cannot be read: ${(error as Error).message}`)
  }
}
