import { builder } from './builder.ts'

export const WhenBusy = builder.enumType('WhenBusy', {
  description: 'What to do if the conversation has an active run.',
  values: {
    REJECT: { description: 'Refuse.' },
    ENQUEUE: { description: 'Wait in the queue.' },
    INTERRUPT: { description: 'Cancel the active run, deny the calls it waits for, and go next.' },
  } as const,
})
