import {
  ALL_ATTACHMENTS_BYTES,
  ATTACHED_A_DAY,
  ATTACHMENT_BYTES,
  type AttachmentFacts,
  type AttachmentKind,
  openedMark,
} from '../../domain/attachment.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { imageType } from '../../domain/image.ts'
import type { User } from '../../domain/user.ts'
import { fromBase64 } from '../../signing/base64.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller } from '../keys/authenticate-caller.ts'
import { reviewRequest } from './review-request.ts'

/** An attachment as it was sent. */
export interface AttachmentInput {
  name: string
  type?: AttachmentKind | undefined
  text?: string | undefined
  /** RFC 4648 section 4, with padding. */
  base64?: string | undefined
  /** Name of the attachment with the former text. */
  base?: string | undefined
}

/** The attachments of a create, after their fields were checked one by one. */
interface Attached {
  /** Undefined without any. */
  facts: AttachmentFacts[] | undefined
  contents: Buffer[]
}

/**
 * Reads the bytes of each attachment, and tells of which kind it is.
 * @throws Refusal `invalid_field` with the path of the field
 */
export function fixAttachments(sent: readonly AttachmentInput[] = []): Attached {
  const names = sent.map(({ name }) => name)
  const contents = sent.map(readContent)
  const all = contents.reduce((sum, { length }) => sum + length, 0)
  if (all > ALL_ATTACHMENTS_BYTES) throw invalidField('attachments', 'must not exceed 1 MiB in all')
  const facts = sent.map((one, index): AttachmentFacts => {
    const content = contents[index] ?? Buffer.of()
    if (names.indexOf(one.name) !== index) throw wrong(index, 'name', 'must differ from the other names')
    const kind = kindOf(one, index, content)
    const base = kind === 'diff' ? { base: baseOf(one, index, sent) } : {}
    return { name: one.name, kind, sha256: sha256Hex(content), bytes: content.length, ...base }
  })
  return { facts: facts.length === 0 ? undefined : facts, contents }
}

function wrong(index: number, field: string, detail: string) {
  return invalidField(`attachments.${index}.${field}`, detail)
}

function readContent({ text, base64 }: AttachmentInput, index: number): Buffer {
  if ((text === undefined) === (base64 === undefined))
    throw invalidField(`attachments.${index}`, 'must have either text or base64')
  const content = text === undefined ? readBase64(base64 ?? '', index) : Buffer.from(text)
  if (content.length > ATTACHMENT_BYTES)
    throw invalidField(`attachments.${index}`, 'must not exceed 256 KiB of content')
  return content
}

function readBase64(base64: string, index: number): Buffer {
  try {
    return Buffer.from(fromBase64(base64))
  } catch {
    throw wrong(index, 'base64', 'must be base64 with padding and nothing else')
  }
}

/** What the content is decides; a `type` may only say the same, or that nothing of it is to be shown. */
function kindOf({ type, text, base }: AttachmentInput, index: number, content: Buffer): AttachmentKind {
  if (base !== undefined && (text === undefined || type === 'file'))
    throw wrong(index, 'base', 'is for a text that is shown')
  if (type === 'file') return 'file'
  const shown = base === undefined ? 'text' : 'diff'
  const found = text !== undefined ? shown : imageType(content) === undefined ? 'file' : 'image'
  if (type !== undefined && type !== found) throw wrong(index, 'type', WRONG_TYPE[type])
  return found
}

const WRONG_TYPE: Record<Exclude<AttachmentKind, 'file'>, string> = {
  text: 'is for content in text, without base',
  diff: 'is for content in text, with base',
  image: 'is for a PNG, JPEG, GIF or WebP image in base64, of at most 20 million pixels and 16,384 on a side',
}

function baseOf(
  { base = '', name }: AttachmentInput,
  index: number,
  sent: readonly AttachmentInput[],
): string {
  const former = sent.find((one) => one.name === base)
  const isText = former?.text !== undefined && former.base === undefined && former.type !== 'file'
  if (base === name || !isText)
    throw wrong(index, 'base', 'must be the name of an attachment with the former text')
  return base
}

/** Counts the bytes against what the key may send within a day, UTC. @throws Refusal `quota_exceeded` */
export async function takeAttached(
  { attachments, clock }: FlowDeps,
  { key }: Caller,
  { contents }: Attached,
): Promise<void> {
  const bytes = contents.reduce((sum, { length }) => sum + length, 0)
  if (bytes === 0) return
  const now = clock.now()
  if (await attachments.takeBytes(key.id, now.toISOString().slice(0, 10), bytes, ATTACHED_A_DAY)) return
  const resets_at = new Date(now)
  resets_at.setUTCHours(24, 0, 0, 0)
  throw refusal('attachment_quota_exceeded', {
    retry_after: Math.ceil((resets_at.getTime() - now.getTime()) / 1000),
    limit: ATTACHED_A_DAY,
    resets_at,
  })
}

/**
 * Reads an attachment for a person who may review the request, and notes that they did while it is pending.
 * @param counts the bytes go to the service's own page, so that they count as opened
 * @throws Refusal `not_found`, also for people who may not see the request
 */
export async function openAttachment(
  deps: FlowDeps,
  person: User,
  { id, index, address }: { id: string; index: number; address: string },
  counts: boolean,
): Promise<{ facts: AttachmentFacts; content: Buffer }> {
  const { request } = await reviewRequest(deps, person, id, address)
  const facts = request.attachments?.[index]
  const content = facts && (await deps.attachments.read(request.id, index))
  if (facts === undefined || content === undefined) throw refusal('not_found')
  const asked = request.status === 'pending' && !request.sandbox
  // Before the answer: what the person then decides is to say that they opened it.
  if (counts && asked) await deps.attachments.noteOpened(request.id, openedMark(index, person.approver))
  return { facts, content }
}
