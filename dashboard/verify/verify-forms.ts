import { parseUnambiguous } from '../../src/domain/parse-json.ts'
import { visibleString } from '../../src/domain/text.ts'
import { JwksError } from '../../src/signing/jwks.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import { PolicyError, parsePolicy, type TrustPolicy } from '../../src/signing/log/policy.ts'
import { examineJwks } from '../../src/signing/verify-web.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { div, el, folded, hint, p } from '../../webauthn-page/kit/dom/element.ts'
import { field, form, wrong } from '../../webauthn-page/kit/dom/form.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { MAX_BYTES } from './read-subject.ts'

/** The content of a drop, or of a file from the file chooser. */
export interface DroppedContent {
  /** The file's name; undefined for text that was dragged here. */
  name?: string
  text: string
}

/**
 * A zone to drop one file or text on, with a button to choose a file. Files are read in the browser and sent nowhere.
 * @param signal removes the page-wide listeners
 */
export function dropZone(
  signal: AbortSignal,
  taken: (dropped: DroppedContent) => Promise<void>,
  refused: (sentence: string) => void,
): HTMLElement {
  const take = (file: File): Promise<void> => readFile(file, taken, refused)
  const element = div(
    'drop-zone',
    p('Drop a receipt here, or'),
    ...fileChooser('Choose a file', take),
    hint('A JSON file of up to 1 MiB. It does not leave this browser.'),
  )
  const drop = (data: DataTransfer): void => {
    const [file, second] = data.files
    if (second !== undefined) refused('Drop one file at a time.')
    else if (file !== undefined) void take(file)
    else void taken({ text: data.getData('text/plain') })
  }
  listen(element, signal, drop)
  return element
}

/** A button that lets the person choose a file, with its input. */
function fileChooser(label: string, take: (file: File) => Promise<void>): HTMLElement[] {
  const input = el('input', { type: 'file', hidden: true, 'aria-hidden': 'true', tabindex: -1 })
  input.addEventListener('change', () => {
    const file = input.files?.[0]
    // Reset, so that the same file can be chosen again after it was changed.
    if (file !== undefined) void take(file).finally(() => (input.value = ''))
  })
  return [button(label, 'plain', () => input.click()), input]
}

async function readFile(
  file: File,
  taken: (dropped: { name: string; text: string }) => Promise<void>,
  refused: (sentence: string) => void,
): Promise<void> {
  if (file.size > MAX_BYTES)
    return refused('This file is larger than 1 MiB; no receipt is. Nothing was read.')
  const text = textOf(await file.arrayBuffer())
  if (text === undefined) return refused('This file is not text. Choose the JSON file of a receipt.')
  await taken({ name: file.name, text })
}

/** Lets the whole window take the drop: beside the zone the browser would leave the page and open the file. */
function listen(zone: HTMLElement, signal: AbortSignal, drop: (data: DataTransfer) => void): void {
  let depth = 0
  const show = (change: number): void => {
    depth = Math.max(0, depth + change)
    zone.classList.toggle('over', depth > 0)
  }
  addEventListener('dragenter', () => show(1), { signal })
  addEventListener('dragleave', () => show(-1), { signal })
  addEventListener('dragover', (event) => event.preventDefault(), { signal })
  addEventListener(
    'drop',
    (event) => {
      show(-depth)
      // Text dropped into a field stays there.
      if (event.dataTransfer?.files.length === 0 && isField(event.target)) return
      event.preventDefault()
      if (event.dataTransfer !== null) drop(event.dataTransfer)
    },
    { signal },
  )
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement
}

/** Decodes UTF-8; undefined for bytes that are not UTF-8. */
function textOf(bytes: ArrayBuffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** A form for what the visitor trusts beforehand. */
interface TrustForm<Trusted> {
  title: string
  why: string
  label: string
  /** The usual name of its file. */
  file: string
  name: string
  hint: string
  submit: string
  /** @throws JwksError, PolicyError */
  read(text: string): Promise<Trusted>
  /** Says what is used from now on. */
  said(trusted: Trusted): string
  cleared: string
}

/**
 * The form for a key set that the visitor saved earlier: from then on no keys are fetched, so the service can no longer
 * choose the keys that check it. `changed` gets the keys, or undefined when they are put away.
 */
export function keyPin(changed: (keys: VerificationKey[] | undefined) => Promise<void>): HTMLElement {
  return trustForm(
    {
      title: 'Use a saved key set',
      why: 'Otherwise the keys come from this service itself. With your own key set you need not trust the service or be online.',
      label: 'Key set',
      file: 'jwks.json',
      name: 'jwks',
      hint: 'The JSON from /.well-known/jwks.json of the service, saved when you trusted it.',
      submit: 'Use this key set',
      read: (text) => examineJwks(parseUnambiguous(text)),
      said: ({ length }) =>
        `${length === 1 ? 'This one key is' : `These ${length} keys are`} used from now on. Receipts are checked without any call. `,
      cleared: 'The keys that this service publishes are used again.',
    },
    changed,
  )
}

/** The form for the log and the witnesses that the visitor trusts (C2SP tlog-policy). */
export function policyPin(changed: (policy: TrustPolicy | undefined) => Promise<void>): HTMLElement {
  return trustForm(
    {
      title: 'Use a trust policy',
      why: 'With a policy, the log and its witnesses must have signed that the log has the decision. So nobody can have made or hidden it later, not even the service.',
      label: 'Trust policy',
      file: 'trust.policy',
      name: 'policy',
      hint: 'Lines of log, witness, group and quorum (C2SP tlog-policy). The operators of the log and of the witnesses give you their keys.',
      submit: 'Use this policy',
      read: parsePolicy,
      said: ({ logs, witnesses }) =>
        `${countOf(logs.length, 'log', 'logs')} and ${countOf(witnesses.size, 'witness', 'witnesses')} are trusted from now on. `,
      cleared: 'No policy is used any more.',
    },
    changed,
  )
}

function countOf(count: number, one: string, many: string): string {
  return count === 1 ? `1 ${one}` : `${count} ${many}`
}

function trustForm<Trusted>(
  { title, why, label, file, name, hint: about, submit, read, said, cleared }: TrustForm<Trusted>,
  changed: (trusted: Trusted | undefined) => Promise<void>,
): HTMLElement {
  const attributes = { rows: 4, autocomplete: 'off' }
  const pasted = field({ label: `${label} (${file})`, name, multiline: true, hint: about, attributes })
  const slot = noticeSlot()
  const forget = async (): Promise<void> => {
    pasted.input.value = ''
    slot.show('info', cleared)
    pasted.input.focus()
    await changed(undefined)
  }
  const use = async (): Promise<void> => {
    slot.clear()
    try {
      const trusted = await read(pasted.input.value)
      slot.show('success', said(trusted), button('Clear', 'quiet', forget))
      await changed(trusted)
    } catch (error) {
      if (!(error instanceof JwksError || error instanceof PolicyError)) throw error
      wrong(pasted, `This cannot be used: ${visibleString(error.message)}.`)
    }
  }
  const take = async ({ text }: { text: string }): Promise<void> => {
    pasted.input.value = text
    await use()
  }
  const refused = (sentence: string): void => slot.show('error', sentence)
  const choose = fileChooser(`Choose ${file}`, (chosen) => readFile(chosen, take, refused))
  const buttons = buttonRow(submitButton(submit, 'plain'), ...choose)
  return folded(title, div('exact-body', hint(why), form({}, use, pasted.row, buttons, slot.element)))
}
