import type { LiveStep } from '../../../src/domain/runs/live-step.ts'
import { countTokens } from '../../../src/util/tokens.ts'
import { callModel, type ModelOutcome } from '../../../src/engine/call-model.ts'
import type { EngineContext } from '../../../src/engine/engine-context.ts'
import { Hub } from '../../../src/live/hub.ts'
import { createCatalog } from '../../../src/providers/catalog.ts'
import { systemClock } from '../../../src/util/clock.ts'
import { createIdSource } from '../../../src/util/ids.ts'
import { createLog } from '../../../src/util/log.ts'
import { aRequest } from '../../providers/speakers.ts'
import type { FakeProvider } from '../../support/fake-providers/fake-model.ts'

/** Asks the model as a run does, without a database. */
export function askModel(fake: FakeProvider, { idleMs = 60_000 } = {}): Promise<ModelOutcome> {
  const context = {
    ids: createIdSource(systemClock),
    hub: new Hub(),
    catalog: createCatalog([fake.provider]),
    log: createLog('fatal'),
    countTokens,
    modelIdleMs: idleMs,
  } as unknown as EngineContext
  const live: LiveStep = { seq: 1, stepIndex: 0, items: [] }
  return callModel(context, 'run', aRequest(fake.handle, 'hello'), live, { signal: new AbortController().signal })
}
