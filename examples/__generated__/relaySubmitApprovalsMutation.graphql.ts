/**
 * @generated SignedSource<<7a760185c407bfb7c47a85cd73a189aa>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ConcreteRequest } from 'relay-runtime';
export type ApprovalScope = "AGENT" | "ONCE" | "RUN" | "%future added value";
export type MessageRole = "SYSTEM" | "USER" | "%future added value";
export type RunStatus = "AWAITING_APPROVAL" | "CANCELLED" | "CANCELLING" | "COMPLETED" | "FAILED" | "QUEUED" | "RUNNING" | "%future added value";
export type ToolReturnStatus = "ERROR" | "SUCCESS" | "%future added value";
export type SubmitApprovalsInput = {
  decisions: ReadonlyArray<ApprovalDecisionInput>;
  followUp?: ReadonlyArray<NewMessageInput> | null | undefined;
  idempotencyKey?: string | null | undefined;
  runId: string;
  waitMs?: number;
};
export type ApprovalDecisionInput = {
  approve: ApproveInput;
  deny?: never;
  toolReturn?: never;
} | {
  approve?: never;
  deny: DenyInput;
  toolReturn?: never;
} | {
  approve?: never;
  deny?: never;
  toolReturn: ClientToolReturnInput;
};
export type ApproveInput = {
  arguments?: unknown | null | undefined;
  note?: string | null | undefined;
  scope?: ApprovalScope;
  toolCallId: string;
};
export type DenyInput = {
  reason?: string | null | undefined;
  toolCallId: string;
};
export type ClientToolReturnInput = {
  content?: ReadonlyArray<ContentPartInput> | null | undefined;
  output?: string | null | undefined;
  status: ToolReturnStatus;
  stderr?: ReadonlyArray<string> | null | undefined;
  stdout?: ReadonlyArray<string> | null | undefined;
  toolCallId: string;
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
export type NewMessageInput = {
  clientId?: string | null | undefined;
  content?: ReadonlyArray<ContentPartInput> | null | undefined;
  role?: MessageRole;
  text?: string | null | undefined;
};
export type relaySubmitApprovalsMutation$variables = {
  input: SubmitApprovalsInput;
};
export type relaySubmitApprovalsMutation$data = {
  readonly submitApprovals: {
    readonly __typename: string;
    readonly message?: string;
    readonly run?: {
      readonly id: string;
      readonly status: RunStatus;
    };
  } | null | undefined;
};
export type relaySubmitApprovalsMutation = {
  response: relaySubmitApprovalsMutation$data;
  variables: relaySubmitApprovalsMutation$variables;
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
    "name": "submitApprovals",
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
              },
              {
                "alias": null,
                "args": null,
                "kind": "ScalarField",
                "name": "status",
                "storageKey": null
              }
            ],
            "storageKey": null
          }
        ],
        "type": "SubmitApprovalsSuccess",
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
    "name": "relaySubmitApprovalsMutation",
    "selections": (v1/*:: as any*/),
    "type": "Mutation",
    "abstractKey": null
  },
  "kind": "Request",
  "operation": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Operation",
    "name": "relaySubmitApprovalsMutation",
    "selections": (v1/*:: as any*/)
  },
  "params": {
    "cacheID": "f565c55bc7f9e16fcdf427b88454b630",
    "id": null,
    "metadata": {},
    "name": "relaySubmitApprovalsMutation",
    "operationKind": "mutation",
    "text": "mutation relaySubmitApprovalsMutation(\n  $input: SubmitApprovalsInput!\n) {\n  submitApprovals(input: $input) {\n    __typename\n    ... on SubmitApprovalsSuccess {\n      run {\n        id\n        status\n      }\n    }\n    ... on Refusal {\n      __isRefusal: __typename\n      message\n    }\n  }\n}\n"
  }
};
})();

(node as any).hash = "3124c6f94eaa40f0ddc4e5b3e653704c";

export default node;
