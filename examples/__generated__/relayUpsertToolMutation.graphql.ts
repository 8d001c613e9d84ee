/**
 * @generated SignedSource<<caf1d86c3b20d0f611fee3e0f26f9656>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ConcreteRequest } from 'relay-runtime';
export type UpsertToolInput = {
  approvalCondition?: unknown | null | undefined;
  approvalExcludesSender?: boolean | null | undefined;
  approvalTimeoutMs?: number | null | undefined;
  approvalsRequired?: number | null | undefined;
  description?: string | null | undefined;
  idempotent?: boolean | null | undefined;
  implementation: ToolImplementationInput;
  name: string;
  parallel?: boolean | null | undefined;
  parameters?: unknown | null | undefined;
  requiresApproval?: boolean | null | undefined;
  returnCharLimit?: number | null | undefined;
  tags?: ReadonlyArray<string> | null | undefined;
  timeoutMs?: number | null | undefined;
};
export type ToolImplementationInput = {
  client: boolean;
  http?: never;
  javascript?: never;
} | {
  client?: never;
  http: HttpToolInput;
  javascript?: never;
} | {
  client?: never;
  http?: never;
  javascript: JavaScriptToolInput;
};
export type HttpToolInput = {
  headers?: unknown | null | undefined;
  url: string;
};
export type JavaScriptToolInput = {
  source: string;
};
export type relayUpsertToolMutation$variables = {
  input: UpsertToolInput;
};
export type relayUpsertToolMutation$data = {
  readonly upsertTool: {
    readonly tool: {
      readonly id: string;
    };
  } | null | undefined;
};
export type relayUpsertToolMutation = {
  response: relayUpsertToolMutation$data;
  variables: relayUpsertToolMutation$variables;
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
    "concreteType": "UpsertToolPayload",
    "kind": "LinkedField",
    "name": "upsertTool",
    "plural": false,
    "selections": [
      {
        "alias": null,
        "args": null,
        "concreteType": "Tool",
        "kind": "LinkedField",
        "name": "tool",
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
    "name": "relayUpsertToolMutation",
    "selections": (v1/*:: as any*/),
    "type": "Mutation",
    "abstractKey": null
  },
  "kind": "Request",
  "operation": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Operation",
    "name": "relayUpsertToolMutation",
    "selections": (v1/*:: as any*/)
  },
  "params": {
    "cacheID": "91bbbcf8ecabcffcc01be5f376fb3b8e",
    "id": null,
    "metadata": {},
    "name": "relayUpsertToolMutation",
    "operationKind": "mutation",
    "text": "mutation relayUpsertToolMutation(\n  $input: UpsertToolInput!\n) {\n  upsertTool(input: $input) {\n    tool {\n      id\n    }\n  }\n}\n"
  }
};
})();

(node as any).hash = "57a14d30cbbf4d5e5c3cbf93bc7daf51";

export default node;
