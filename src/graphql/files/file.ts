import { uploadFile } from '../../commands/files/store-files.ts'
import { checkedUpload } from '../../domain/conversations/content-input.ts'
import { encodeFileId } from '../../domain/ids.ts'
import { Conversation } from '../conversations/conversation.ts'
import { linkTo } from '../load-existing.ts'
import { mutation, payload } from '../mutation.ts'
import { Node, requireUuid } from '../node.ts'
import { File } from '../refs.ts'

File.implement({
  description:
    'A stored file: uploaded, sent as a large data URL, or returned by a tool. It is deleted with its conversation.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'Globally unique and permanent. Begins with file_.', resolve: encodeFileId }),
    name: t.exposeString('name', { nullable: true, description: 'File name. Null if none was given.' }),
    mediaType: t.exposeString('mediaType', { description: 'Media type, such as image/png.' }),
    sizeBytes: t.exposeInt('sizeBytes', { description: 'Size in bytes.' }),
    url: t.string({
      description: 'Path to download the file with the same credentials: `/files/` and the id.',
      resolve: (file) => `/files/${encodeFileId(file)}`,
    }),
    conversation: t.field(
      linkTo(
        Conversation,
        'conversationId',
        'Conversation that the file belongs to. Whoever may read the conversation may download the file.',
      ),
    ),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the file was stored.' }),
  }),
})

mutation('uploadFile', {
  description: 'Stores a file for use in messages and client tool results.',
  input: {
    description: 'A file to store.',
    fields: (t) => ({
      conversationId: t.id({ required: true, description: 'Id of the conversation that the file is for.' }),
      dataUrl: t.string({
        required: true,
        description:
          'Content as a base64 data URL with its media type. The request is limited by HOLDPOINT_MAX_BODY, 10 MB by default.',
      }),
      name: t.string({ description: 'File name, 1 to 200 characters.' }),
    }),
  },
  result: payload('file', File, 'The stored file.'),
  resolve: (input, context) =>
    uploadFile(context, context.viewer, {
      conversationId: requireUuid('Conversation', input.conversationId),
      file: checkedUpload(input.dataUrl, input.name),
    }),
})
