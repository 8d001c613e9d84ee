import { errorCode } from './start-error.ts'

/** A package that only some installations have is missing. The message says what to install. */
export class MissingPackageError extends Error {
  constructor(name: string, options: ErrorOptions) {
    super(`The package ${name} is not installed. Run: npm install ${name}`, options)
    this.name = 'MissingPackageError'
  }
}

/** Large SDKs that few installations need are not installed with the server. */
export async function loadOptional<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    if (errorCode(error) === 'ERR_MODULE_NOT_FOUND') throw new MissingPackageError(name, { cause: error })
    throw error
  }
}
