import type { ReactNode } from 'react'

import type { ConversationAgentData } from '../data/documents.ts'
import { exampleOf } from '../data/example.ts'
import { Button } from './button.tsx'
import { Empty } from './empty.tsx'

/** Better arguments for the tools of the demo agent than their types would give. */
const examples: Readonly<Record<string, object>> = {
  demo_send_email: { to: 'grace@example.com', subject: 'The report is ready' },
  demo_dice: { sides: 20 },
}

interface SuggestionsProps {
  readonly agent: NonNullable<ConversationAgentData['agent']> | null | undefined
  readonly onChoose: (text: string) => void
}

/** An empty conversation. With the scripted demo model, it suggests messages that show what the server can do. */
export function Suggestions({ agent, onChoose }: SuggestionsProps): ReactNode {
  const isDemo = agent?.model === 'demo/scripted'
  const own = (agent?.tools ?? []).map(({ tool }) => tool).filter(({ kind }) => kind !== 'BUILTIN')
  const callOf = (tool: (typeof own)[number] | undefined, label: string): readonly (readonly [string, string])[] =>
    tool ? [[label, `call ${tool.name} ${JSON.stringify(examples[tool.name] ?? exampleOf(tool.parameters))}`]] : []
  const offers = [
    ['Ask something', 'Hello, who are you?'],
    [
      'Watch it think and write',
      'slow 40\nthink The person wants to see a stream. I will write a short list.\nsay **Three things** to try:\nsay 1. Reload this page while I write.\nsay 2. Cancel the run.\nsay 3. Open the run and replay it.',
    ],
    ...callOf(
      own.find((tool) => tool.requiresApproval),
      'Ask for something that needs approval',
    ),
    ...callOf(
      own.find((tool) => !tool.requiresApproval),
      'Use a tool',
    ),
    ['See a failure', 'fail rate_limit'],
  ] as const
  return (
    <Empty icon="agents" title={agent ? `Talk to ${agent.name}` : 'A new conversation'}>
      {!isDemo && <p>Write the first message below.</p>}
      {isDemo && (
        <>
          <p>This agent uses the scripted demo model, which works offline and does what a message tells it to.</p>
          <div className="offers">
            {offers.map(([label, text]) => (
              <Button key={label} onClick={() => onChoose(text)}>
                {label}
              </Button>
            ))}
          </div>
        </>
      )}
    </Empty>
  )
}
