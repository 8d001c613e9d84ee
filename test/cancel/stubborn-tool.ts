import { defineTool } from '../../src/tools/registry.ts'

/** A tool that runs until the test ends it, or until it is told to stop, depending on its argument `when`. */
export function createStubbornTool(name: string) {
  const begun: PromiseWithResolvers<void>[] = []
  let waiting: PromiseWithResolvers<void> | undefined
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
      const end = Promise.withResolvers<void>()
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
        waiting = Promise.withResolvers<void>()
        await waiting.promise
      }
      return begun.splice(0, count).map((end) => () => end.resolve())
    },
  }
}
