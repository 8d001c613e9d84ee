import type { CallContext } from '../../src/tools/execution.ts'

/** For tests that call a tool without a run. */
export const someContext: CallContext = {
  callId: 'call_1',
  runId: 'run_1',
  agentId: 'agent_1',
  conversationId: 'conv_1',
  metadata: {},
  sentBy: null,
  approvedBy: [],
}
