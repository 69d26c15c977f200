/** How an attachment is shown: a text, a text with its changes against another one, a picture, or by name and hash alone. */
export const ATTACHMENT_KINDS = ['text', 'diff', 'image', 'file'] as const
export type AttachmentKind = (typeof ATTACHMENT_KINDS)[number]

/** What the request says of an attachment, in the order of the create; the bytes have a collection of their own. */
export interface AttachmentFacts {
  /** The caller's words. */
  name: string
  kind: AttachmentKind
  /** Lower-case hex. */
  sha256: string
  bytes: number
  /** Name of the attachment that holds the former text; of kind `diff` only. */
  base?: string
}

/** An attachment as the intent states it. */
export interface StatedAttachment extends AttachmentFacts {
  /** Whether the browser of the person who decides had fetched the bytes from the service before the decision. */
  opened: boolean
}

export const MOST_ATTACHMENTS = 10
export const ATTACHMENT_BYTES = 256 * 1024
export const ALL_ATTACHMENTS_BYTES = 1024 * 1024
/** In code points. */
export const ATTACHMENT_NAME_LENGTH = 200

/** Bytes of attachments that the requests of one API key may bring within a day. */
export const ATTACHED_A_DAY = 256 * 1024 * 1024

/** Marks that this person fetched that attachment, as the request keeps it. */
export function openedMark(index: number, approver: string): string {
  return `${index}:${approver}`
}

/** States the attachments for one person: what they are, and which of them that person has fetched. */
export function statedAttachments(
  { attachments, opened = [] }: { attachments?: AttachmentFacts[]; opened?: string[] },
  approver: string,
): StatedAttachment[] | undefined {
  return attachments?.map((one, index) => ({ ...one, opened: opened.includes(openedMark(index, approver)) }))
}
