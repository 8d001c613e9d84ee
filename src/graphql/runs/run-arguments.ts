import { describedEnum } from '../described-enum.ts'
import { int, of } from '../fields.ts'

const WhenBusy = describedEnum('WhenBusy', 'What to do if the conversation has an active run.', {
  REJECT: 'Refuse.',
  ENQUEUE: 'Wait in the queue.',
  INTERRUPT: 'Cancel the active run, deny the calls it waits for, and go next.',
})

/** Arguments that several mutations on runs have. */
export const whenBusyField = of(WhenBusy).withDefault(
  'REJECT',
  'What to do if the conversation has an active run. Defaults to REJECT.',
)

export const waitMsField = int.withDefault(
  0,
  'How long to wait for the run to pause or end before answering. Defaults to 0, at most 300,000.',
)
