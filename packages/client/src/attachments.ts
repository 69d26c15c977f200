import { Invalid } from './errors.ts'
import { base64, encode, hex, sha256 } from './json.ts'
import type { Schemas } from './rest.ts'

/** A text or file that the person reads on the page: at most 10, of 256 KiB each and 1 MiB in all. */
export interface Attachment {
  /** One line of at most 200 characters, unlike the other names. */
  name: string
  /** Either a text, or … */
  text?: string | undefined
  /** … bytes, of which PNG, JPEG, GIF and WebP are shown. */
  bytes?: Uint8Array | undefined
  /** The name of the attachment with the former text: the page shows what changes. */
  base?: string | undefined
  /** Follows from the content; `file`: not shown, only offered for download. */
  type?: Schemas['Attachment']['type'] | undefined
}

/** What an attachment is compared by; the hash of its content in hex. */
export type Hashed = Pick<Attachment, 'name' | 'base'> & { sha256: string }

/** As it is sent, besides the hash. */
type Attached = Omit<Attachment, 'bytes'> & { base64: string | undefined; sha256: string }

/** Copies attachments at once, and hashes them. @throws Invalid */
export async function attach(given: readonly Attachment[]): Promise<Attached[]> {
  return Promise.all(
    // What is no list is judged, and not left out.
    [given].flat().map(async (attachment) => {
      const { bytes, ...one }: Attachment = Object(attachment)
      if ((typeof one.text === 'string') === ArrayBuffer.isView(bytes))
        throw new Invalid('an attachment has either `text` or `bytes`, a Uint8Array.')
      const content = bytes?.slice() ?? encode(one.text ?? '')
      return { ...one, base64: bytes && base64(content), sha256: hex(await sha256(content)) }
    }),
  )
}
