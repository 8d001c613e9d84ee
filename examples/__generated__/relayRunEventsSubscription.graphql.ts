/**
 * @generated SignedSource<<d9f82d14aa29ac5da0a83f8152e66cde>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ConcreteRequest } from 'relay-runtime';
export type DeltaKind = "ASSISTANT" | "REASONING" | "%future added value";
export type RunStatus = "AWAITING_APPROVAL" | "CANCELLED" | "CANCELLING" | "COMPLETED" | "FAILED" | "QUEUED" | "RUNNING" | "%future added value";
export type StopReason = "BUDGET_EXCEEDED" | "CANCELLED" | "CONTEXT_WINDOW_OVERFLOW_IN_INPUT" | "CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT" | "END_TURN" | "ERROR" | "INVALID_LLM_RESPONSE" | "INVALID_TOOL_CALL" | "LLM_API_ERROR" | "MAX_STEPS" | "MAX_TOKENS_EXCEEDED" | "REQUIRES_APPROVAL" | "RESPONSE_SCHEMA_NOT_SATISFIED" | "TOOL_RULE" | "%future added value";
export type ToolCallStatus = "CANCELLED" | "DENIED" | "FAILED" | "PENDING" | "READY" | "RUNNING" | "SUCCEEDED" | "%future added value";
export type relayRunEventsSubscription$variables = {
  after?: string | null | undefined;
  runId: string;
};
export type relayRunEventsSubscription$data = {
  readonly runEvents: {
    readonly __typename: string;
    readonly cursor: string;
    readonly kind?: DeltaKind;
    readonly message?: {
      readonly __typename: string;
      readonly id: string;
      readonly text?: string;
    };
    readonly messageId?: string;
    readonly offset?: number;
    readonly runId: string;
    readonly seq?: number;
    readonly status?: RunStatus;
    readonly stopReason?: StopReason | null | undefined;
    readonly text?: string;
    readonly toolCall?: {
      readonly arguments: unknown | null | undefined;
      readonly id: string;
      readonly name: string;
      readonly result: {
        readonly output: string;
      } | null | undefined;
    };
    readonly toolCallStatus?: ToolCallStatus;
  };
};
export type relayRunEventsSubscription = {
  response: relayRunEventsSubscription$data;
  variables: relayRunEventsSubscription$variables;
};

const node: ConcreteRequest = (function(){
var v0 = {
  "defaultValue": null,
  "kind": "LocalArgument",
  "name": "after"
},
v1 = {
  "defaultValue": null,
  "kind": "LocalArgument",
  "name": "runId"
},
v2 = {
  "alias": null,
  "args": null,
  "kind": "ScalarField",
  "name": "__typename",
  "storageKey": null
},
v3 = {
  "alias": null,
  "args": null,
  "kind": "ScalarField",
  "name": "text",
  "storageKey": null
},
v4 = {
  "alias": null,
  "args": null,
  "kind": "ScalarField",
  "name": "id",
  "storageKey": null
},
v5 = [
  {
    "alias": null,
    "args": [
      {
        "kind": "Variable",
        "name": "after",
        "variableName": "after"
      },
      {
        "kind": "Variable",
        "name": "runId",
        "variableName": "runId"
      }
    ],
    "concreteType": null,
    "kind": "LinkedField",
    "name": "runEvents",
    "plural": false,
    "selections": [
      (v2/*:: as any*/),
      {
        "alias": null,
        "args": null,
        "kind": "ScalarField",
        "name": "cursor",
        "storageKey": null
      },
      {
        "alias": null,
        "args": null,
        "kind": "ScalarField",
        "name": "runId",
        "storageKey": null
      },
      {
        "kind": "InlineFragment",
        "selections": [
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "seq",
            "storageKey": null
          }
        ],
        "type": "RunEntry",
        "abstractKey": "__isRunEntry"
      },
      {
        "kind": "InlineFragment",
        "selections": [
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "kind",
            "storageKey": null
          },
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "messageId",
            "storageKey": null
          },
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "offset",
            "storageKey": null
          },
          (v3/*:: as any*/)
        ],
        "type": "TextDelta",
        "abstractKey": null
      },
      {
        "kind": "InlineFragment",
        "selections": [
          {
            "alias": null,
            "args": null,
            "concreteType": null,
            "kind": "LinkedField",
            "name": "message",
            "plural": false,
            "selections": [
              (v2/*:: as any*/),
              (v4/*:: as any*/),
              {
                "kind": "InlineFragment",
                "selections": [
                  (v3/*:: as any*/)
                ],
                "type": "AssistantMessage",
                "abstractKey": null
              }
            ],
            "storageKey": null
          }
        ],
        "type": "MessageAdded",
        "abstractKey": null
      },
      {
        "kind": "InlineFragment",
        "selections": [
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "toolCallStatus",
            "storageKey": null
          },
          {
            "alias": null,
            "args": null,
            "concreteType": "ToolCall",
            "kind": "LinkedField",
            "name": "toolCall",
            "plural": false,
            "selections": [
              (v4/*:: as any*/),
              {
                "alias": null,
                "args": null,
                "kind": "ScalarField",
                "name": "name",
                "storageKey": null
              },
              {
                "alias": null,
                "args": null,
                "kind": "ScalarField",
                "name": "arguments",
                "storageKey": null
              },
              {
                "alias": null,
                "args": null,
                "concreteType": "ToolReturn",
                "kind": "LinkedField",
                "name": "result",
                "plural": false,
                "selections": [
                  {
                    "alias": null,
                    "args": null,
                    "kind": "ScalarField",
                    "name": "output",
                    "storageKey": null
                  }
                ],
                "storageKey": null
              }
            ],
            "storageKey": null
          }
        ],
        "type": "ToolCallChanged",
        "abstractKey": null
      },
      {
        "kind": "InlineFragment",
        "selections": [
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "status",
            "storageKey": null
          },
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "stopReason",
            "storageKey": null
          }
        ],
        "type": "RunStatusChanged",
        "abstractKey": null
      }
    ],
    "storageKey": null
  }
];
return {
  "fragment": {
    "argumentDefinitions": [
      (v0/*:: as any*/),
      (v1/*:: as any*/)
    ],
    "kind": "Fragment",
    "metadata": null,
    "name": "relayRunEventsSubscription",
    "selections": (v5/*:: as any*/),
    "type": "Subscription",
    "abstractKey": null
  },
  "kind": "Request",
  "operation": {
    "argumentDefinitions": [
      (v1/*:: as any*/),
      (v0/*:: as any*/)
    ],
    "kind": "Operation",
    "name": "relayRunEventsSubscription",
    "selections": (v5/*:: as any*/)
  },
  "params": {
    "cacheID": "1bdd627ba6b58dbd60e585526723aed2",
    "id": null,
    "metadata": {},
    "name": "relayRunEventsSubscription",
    "operationKind": "subscription",
    "text": "subscription relayRunEventsSubscription(\n  $runId: ID!\n  $after: EventCursor\n) {\n  runEvents(runId: $runId, after: $after) {\n    __typename\n    cursor\n    runId\n    ... on RunEntry {\n      __isRunEntry: __typename\n      seq\n    }\n    ... on TextDelta {\n      kind\n      messageId\n      offset\n      text\n    }\n    ... on MessageAdded {\n      message {\n        __typename\n        id\n        ... on AssistantMessage {\n          text\n        }\n      }\n    }\n    ... on ToolCallChanged {\n      toolCallStatus\n      toolCall {\n        id\n        name\n        arguments\n        result {\n          output\n        }\n      }\n    }\n    ... on RunStatusChanged {\n      status\n      stopReason\n    }\n  }\n}\n"
  }
};
})();

(node as any).hash = "644d2892f5653972361671cb569c0fb8";

export default node;
