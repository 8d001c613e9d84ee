import { builder } from './builder.ts'

/** Implemented by every type that reports a refusal as data. */
export const Refusal = builder.interfaceRef<{ readonly message: string }>('Refusal')
Refusal.implement({
  description:
    'A refusal that is part of normal use: nothing was changed. All other failures are in `errors` with `extensions.code`.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'Why nothing was changed, for people to read.' }),
  }),
})
