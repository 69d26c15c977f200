import { button } from '../../webauthn-page/kit/dom/button.ts'
import { div, el, hint, p } from '../../webauthn-page/kit/dom/element.ts'
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
  const take = async (file: File): Promise<void> => {
    if (file.size > MAX_BYTES)
      return refused('This file is larger than 1 MiB; no receipt is. Nothing was read.')
    const text = textOf(await file.arrayBuffer())
    if (text === undefined) return refused('This file is not text. Choose the JSON file of a receipt.')
    await taken({ name: file.name, text })
  }
  const input = el('input', { type: 'file', hidden: true, 'aria-hidden': 'true', tabindex: -1 })
  input.addEventListener('change', () => {
    const file = input.files?.[0]
    // Reset, so that the same file can be chosen again after it was changed.
    if (file !== undefined) void take(file).finally(() => (input.value = ''))
  })
  const open = button('Choose a file', 'plain', () => input.click())
  const element = div(
    'drop-zone',
    p('Drop a receipt here, or'),
    open,
    hint('A JSON file of up to 1 MiB. It does not leave this browser.'),
    input,
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
