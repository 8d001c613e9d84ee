import { builder } from './builder.ts'

export const WhenBusy = builder.enumType('WhenBusy', {
  description: 'What to do where the conversation has an active run.',
  values: {
    REJECT: { description: 'Do nothing, and say so.' },
    ENQUEUE: { description: 'Wait for its turn.' },
    INTERRUPT: { description: 'Cancel the active run (denying what it waits for) and go next.' },
  } as const,
})
