/**
 * @generated SignedSource<<682660b3c964e8120306a80b0d131de1>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ConcreteRequest } from 'relay-runtime';
export type CompactionMode = "ALL" | "SLIDING_WINDOW" | "%future added value";
export type ReasoningEffort = "HIGH" | "LOW" | "MEDIUM" | "MINIMAL" | "%future added value";
export type ToolRuleKind = "CHILDREN" | "CONDITIONAL" | "CONTINUE" | "MAX_CALLS" | "PARENT" | "REQUIRED_BEFORE_EXIT" | "REQUIRES_APPROVAL" | "RUN_FIRST" | "TERMINAL" | "%future added value";
export type CreateAgentInput = {
  blockIds?: ReadonlyArray<string> | null | undefined;
  blocks?: ReadonlyArray<CreateBlockInput> | null | undefined;
  compaction?: CompactionSettingsInput | null | undefined;
  description?: string | null | undefined;
  includeBaseTools?: boolean;
  instructions?: string;
  keepRequests?: boolean | null | undefined;
  metadata?: unknown | null | undefined;
  model: string;
  modelSettings?: ModelSettingsInput | null | undefined;
  name: string;
  tags?: ReadonlyArray<string> | null | undefined;
  tellTimes?: boolean | null | undefined;
  timezone?: string | null | undefined;
  toolRules?: ReadonlyArray<ToolRuleInput> | null | undefined;
  tools?: ReadonlyArray<AgentToolInput> | null | undefined;
};
export type CreateBlockInput = {
  charLimit?: number | null | undefined;
  description?: string | null | undefined;
  label: string;
  readOnly?: boolean | null | undefined;
  value: string;
};
export type CompactionSettingsInput = {
  keepRatio?: number | null | undefined;
  mode?: CompactionMode | null | undefined;
  model?: string | null | undefined;
  prompt?: string | null | undefined;
};
export type ModelSettingsInput = {
  contextWindow?: number | null | undefined;
  fallbacks?: ReadonlyArray<string> | null | undefined;
  maxOutputTokens?: number | null | undefined;
  parallelToolCalls?: boolean | null | undefined;
  reasoningBudget?: number | null | undefined;
  reasoningEffort?: ReasoningEffort | null | undefined;
  responseSchema?: unknown | null | undefined;
  temperature?: number | null | undefined;
};
export type ToolRuleInput = {
  children?: ReadonlyArray<string> | null | undefined;
  defaultChild?: string | null | undefined;
  kind: ToolRuleKind;
  maxCalls?: number | null | undefined;
  outputMapping?: unknown | null | undefined;
  prefilledArguments?: unknown | null | undefined;
  requireMapping?: boolean | null | undefined;
  tool: string;
};
export type AgentToolInput = {
  approvalOverride?: boolean | null | undefined;
  toolId?: string | null | undefined;
  toolName?: string | null | undefined;
};
export type relayCreateAgentMutation$variables = {
  input: CreateAgentInput;
};
export type relayCreateAgentMutation$data = {
  readonly createAgent: {
    readonly agent: {
      readonly id: string;
    };
  } | null | undefined;
};
export type relayCreateAgentMutation = {
  response: relayCreateAgentMutation$data;
  variables: relayCreateAgentMutation$variables;
};

const node: ConcreteRequest = (function(){
var v0 = [
  {
    "defaultValue": null,
    "kind": "LocalArgument",
    "name": "input"
  }
],
v1 = [
  {
    "alias": null,
    "args": [
      {
        "kind": "Variable",
        "name": "input",
        "variableName": "input"
      }
    ],
    "concreteType": "CreateAgentPayload",
    "kind": "LinkedField",
    "name": "createAgent",
    "plural": false,
    "selections": [
      {
        "alias": null,
        "args": null,
        "concreteType": "Agent",
        "kind": "LinkedField",
        "name": "agent",
        "plural": false,
        "selections": [
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "id",
            "storageKey": null
          }
        ],
        "storageKey": null
      }
    ],
    "storageKey": null
  }
];
return {
  "fragment": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Fragment",
    "metadata": null,
    "name": "relayCreateAgentMutation",
    "selections": (v1/*:: as any*/),
    "type": "Mutation",
    "abstractKey": null
  },
  "kind": "Request",
  "operation": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Operation",
    "name": "relayCreateAgentMutation",
    "selections": (v1/*:: as any*/)
  },
  "params": {
    "cacheID": "b9e26e938d60b46df5b9c2e1c682362a",
    "id": null,
    "metadata": {},
    "name": "relayCreateAgentMutation",
    "operationKind": "mutation",
    "text": "mutation relayCreateAgentMutation(\n  $input: CreateAgentInput!\n) {\n  createAgent(input: $input) {\n    agent {\n      id\n    }\n  }\n}\n"
  }
};
})();

(node as any).hash = "490e8fc3a426f76e267a1882cee63f1d";

export default node;
