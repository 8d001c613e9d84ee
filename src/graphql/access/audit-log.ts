import type { AuditEntry as DomainAuditEntry } from '../../domain/access/audit.ts'
import { listAuditEntriesPage } from '../../store/access/audit-entries.ts'
import { builder } from '../builder.ts'
import { connectionType, filterBy, pageOf } from '../connection.ts'
import { given, id, implement, json, of, string, strings, time } from '../fields.ts'
import { loadNode, Node } from '../node.ts'
import { Actor } from './actor.ts'

const AuditEntry = builder.objectRef<DomainAuditEntry>('AuditEntry')
implement(AuditEntry, {
  description: 'One recorded change. Entries are never edited; only retention deletes them.',
  interfaces: [Node],
  fields: (t) => ({
    at: time('When the change was made.'),
    actor: of(Actor).orNull(
      'Who made the change. Null for the server itself, such as an expired approval, and for the command line.',
    ),
    action: string('Name of the mutation, such as `updateAgent`.'),
    subjectId: id('Id of the object that was changed, also after it was deleted.'),
    subject: t.field({
      ...of(Node).orNull('Object that was changed. Null if it no longer exists.'),
      resolve: ({ subjectId }, _args, context) => loadNode(context, subjectId),
    }),
    before: json.orNull('Affected settings before the change, without secrets. Null if there were none.'),
    after: json.orNull('Affected settings after the change, without secrets. Null if there are none.'),
  }),
})

const AuditLogFilter = builder.inputType('AuditLogFilter', {
  description: 'Which recorded changes to list. Omitted fields do not filter; all given fields must match.',
  fields: given({
    subjectId: id('Changes of the object with this id.'),
    actorId: id('Changes by the actor with this id.'),
    actions: strings('Changes by one of these mutations, such as `updateAgent`.'),
    since: time('Changes at or after this time.'),
    until: time('Changes before this time.'),
  }),
})

builder.queryField('auditLog', (t) =>
  t.field({
    ...pageOf(
      connectionType('AuditEntry', AuditEntry),
      'Recorded changes, newest first. Requires the MANAGE scope.',
      filterBy(AuditLogFilter, 'changes'),
    ),
    resolve: (_root, { filter, ...page }, { db, viewer }) =>
      listAuditEntriesPage(db, viewer, { filter: filter ?? {}, page }),
  }),
)
