import { createHash } from 'node:crypto'
import { isText } from '../src/ask.ts'
import type { Attachment } from '../src/attachments.ts'
import type { JsonObject } from '../src/json.ts'

/** Most bytes of a context, less what is around the arguments. */
const LONGEST_CONTEXT = 15_800
/** Texts from this length on are attached where the whole is too long; how much of longer ones is shown otherwise. */
const ATTACHED_FROM = 1000
const SHOWN = 3000
/** Most bytes of an attachment, and of all. */
const LONGEST_TEXT = 256 * 1024
const LONGEST_IN_ALL = 1024 * 1024
const MOST_ATTACHED = 10

/** A long text of a call, to be read on the page; with `base` as the change of another one. */
type Attached = Attachment & { text: string }

/** The arguments of a call, as a person sees them. */
export interface Shown {
  /** What the action has to say about it; empty if all stands in the context. */
  note: string
  context: JsonObject
  attachments?: Attached[]
}

/**
 * Shows the arguments of a call in full if they fit into a context, else their long texts as attachments, else their beginning and
 * hash. What is shown differs whenever the arguments do.
 * @param rest what else stands in the context
 */
export function showArguments(rest: JsonObject, given: JsonObject): Shown {
  const whole = { ...rest, arguments: given }
  if (fits(whole)) return { note: '', context: whole }
  const attachments = attach(given)
  const short = { ...rest, arguments: withoutAttached(given, attachments) }
  if (isAccepted(attachments) && fits(short))
    return { note: ' (long: see the attachments)', context: short, attachments }
  const all = JSON.stringify(given)
  const part = {
    beginning: [...all].slice(0, SHOWN).join(''),
    characters: [...all].length,
    sha256: sha256(all),
  }
  return {
    note: ' (too long: only the beginning is shown)',
    context: { ...rest, arguments_in_part: part },
  }
}

function fits(context: JsonObject): boolean {
  return Buffer.byteLength(JSON.stringify(context)) <= LONGEST_CONTEXT
}

/** Takes the long texts out of the arguments. An edit is shown as the change it makes. */
function attach(given: JsonObject): Attached[] {
  const isEdit = [given.old_string, given.new_string].every(isText)
  const texts = Object.entries(given).flatMap(([name, text]) => {
    const counts =
      isText(text) && (text.length >= ATTACHED_FROM || (isEdit && /^(old|new)_string$/.test(name)))
    return counts ? [{ name, text }] : []
  })
  return texts.map((one) => (isEdit && one.name === 'new_string' ? { ...one, base: 'old_string' } : one))
}

/** The context has the hash of each text, by which the approval is compared with the call. */
function withoutAttached(given: JsonObject, attachments: readonly Attached[]): JsonObject {
  const hashes = attachments.map(({ name, text }) => [name, { attachment: name, sha256: sha256(text) }])
  return { ...given, ...Object.fromEntries(hashes) }
}

function isAccepted(attachments: readonly Attached[]): boolean {
  const sizes = attachments.map(({ text }) => Buffer.byteLength(text))
  const all = sizes.reduce((sum, size) => sum + size, 0)
  return sizes.length <= MOST_ATTACHED && Math.max(...sizes) <= LONGEST_TEXT && all <= LONGEST_IN_ALL
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** One line, in which what is not drawn is written out. */
export function visibleLine(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (sign) =>
    sign === '\n' ? '\\n' : `\\u{${sign.codePointAt(0)?.toString(16)}}`,
  )
}

/** A visible line of at most 480 code points. */
export function actionOf(what: string, about: string): string {
  const visible = visibleLine(about === '' ? what : `${what}: ${about}`)
  const points = [...visible]
  return points.length <= 480 ? visible : `${points.slice(0, 479).join('')}…`
}
