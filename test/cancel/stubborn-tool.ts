import { defineTool } from '../../src/tools/registry.ts'
import { deferred, type Deferred } from '../../src/util/deferred.ts'

/** A tool that runs until the test ends it, or until it is told to stop, depending on its argument `when`. */
export function createStubbornTool(name: string) {
  const begun: Deferred<void>[] = []
  let waiting: Deferred<void> | undefined
  const definition = defineTool({
    name,
    description: 'Runs until it is told to end.',
    parameters: {
      type: 'object',
      properties: { when: { enum: ['finishes', 'throws', 'ignores'] } },
      required: ['when'],
    },
    parallel: true,
    run: ({ when }, { signal }) => {
      const end = deferred()
      begun.push(end)
      waiting?.resolve()
      return new Promise((resolve, reject) => {
        void end.promise.then(() => resolve('ended by itself'))
        signal.addEventListener('abort', () => {
          if (when === 'finishes') resolve('finished in time')
          if (when === 'throws') reject(signal.reason as Error)
        })
      })
    },
  })
  return {
    definition,
    /** Waits until this many calls are running, and returns functions that end them. */
    async running(count: number): Promise<(() => void)[]> {
      while (begun.length < count) {
        waiting = deferred()
        await waiting.promise
      }
      return begun.splice(0, count).map((end) => () => end.resolve())
    },
  }
}
