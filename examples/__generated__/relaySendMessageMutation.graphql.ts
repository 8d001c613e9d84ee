/**
 * @generated SignedSource<<b6d9085fc2108ae8d39adb7602c92d6b>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ConcreteRequest } from 'relay-runtime';
export type MessageRole = "SYSTEM" | "USER" | "%future added value";
export type WhenBusy = "ENQUEUE" | "INTERRUPT" | "REJECT" | "%future added value";
export type SendMessageInput = {
  clientTools?: ReadonlyArray<ClientToolInput> | null | undefined;
  idempotencyKey?: string | null | undefined;
  maxSteps?: number | null | undefined;
  maxTotalTokens?: number | null | undefined;
  messages: ReadonlyArray<NewMessageInput>;
  metadata?: unknown | null | undefined;
  responseSchema?: unknown | null | undefined;
  to: SendMessageTarget;
  waitMs?: number;
  whenBusy?: WhenBusy;
};
export type ClientToolInput = {
  description?: string | null | undefined;
  name: string;
  parameters?: unknown | null | undefined;
};
export type NewMessageInput = {
  clientId?: string | null | undefined;
  content?: ReadonlyArray<ContentPartInput> | null | undefined;
  role?: MessageRole;
  text?: string | null | undefined;
};
export type ContentPartInput = {
  documentUrl: string;
  fileId?: never;
  imageUrl?: never;
  text?: never;
} | {
  documentUrl?: never;
  fileId: string;
  imageUrl?: never;
  text?: never;
} | {
  documentUrl?: never;
  fileId?: never;
  imageUrl: string;
  text?: never;
} | {
  documentUrl?: never;
  fileId?: never;
  imageUrl?: never;
  text: string;
};
export type SendMessageTarget = {
  agentId: string;
  conversationId?: never;
} | {
  agentId?: never;
  conversationId: string;
};
export type relaySendMessageMutation$variables = {
  input: SendMessageInput;
};
export type relaySendMessageMutation$data = {
  readonly sendMessage: {
    readonly __typename: string;
    readonly message?: string;
    readonly run?: {
      readonly id: string;
    };
  } | null | undefined;
};
export type relaySendMessageMutation = {
  response: relaySendMessageMutation$data;
  variables: relaySendMessageMutation$variables;
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
    "concreteType": null,
    "kind": "LinkedField",
    "name": "sendMessage",
    "plural": false,
    "selections": [
      {
        "alias": null,
        "args": null,
        "kind": "ScalarField",
        "name": "__typename",
        "storageKey": null
      },
      {
        "kind": "InlineFragment",
        "selections": [
          {
            "alias": null,
            "args": null,
            "concreteType": "Run",
            "kind": "LinkedField",
            "name": "run",
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
        "type": "SendMessageSuccess",
        "abstractKey": null
      },
      {
        "kind": "InlineFragment",
        "selections": [
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "message",
            "storageKey": null
          }
        ],
        "type": "Refusal",
        "abstractKey": "__isRefusal"
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
    "name": "relaySendMessageMutation",
    "selections": (v1/*:: as any*/),
    "type": "Mutation",
    "abstractKey": null
  },
  "kind": "Request",
  "operation": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Operation",
    "name": "relaySendMessageMutation",
    "selections": (v1/*:: as any*/)
  },
  "params": {
    "cacheID": "45b53bc98d3f24d5f5624e0f16b895fc",
    "id": null,
    "metadata": {},
    "name": "relaySendMessageMutation",
    "operationKind": "mutation",
    "text": "mutation relaySendMessageMutation(\n  $input: SendMessageInput!\n) {\n  sendMessage(input: $input) {\n    __typename\n    ... on SendMessageSuccess {\n      run {\n        id\n      }\n    }\n    ... on Refusal {\n      __isRefusal: __typename\n      message\n    }\n  }\n}\n"
  }
};
})();

(node as any).hash = "8fe663fb081582effff3463dbb22f088";

export default node;
