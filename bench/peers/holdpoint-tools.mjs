// The tool of the benchmark, as Holdpoint loads tools from code.
import { lookUp, toolDescription } from './serve.mjs'

export default [
  {
    name: 'look_up',
    description: toolDescription,
    parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
    run: lookUp,
  },
]
