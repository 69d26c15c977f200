import { visibleString } from '../../src/domain/text.ts'
import { type Child, div, el, freshId, hint } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field, tick, tie, wrong } from '../../webauthn-page/kit/dom/form.ts'

/** A tick box, its label and, below, its meaning. */
export function checkBox(
  label: Child,
  {
    hint: meaning,
    checked = false,
    disabled = false,
  }: { hint?: string; checked?: boolean; disabled?: boolean } = {},
): { row: HTMLElement; input: HTMLInputElement } {
  const id = freshId('check-hint')
  const box = tick('checkbox', label, {
    checked,
    disabled,
    'aria-describedby': meaning === undefined ? undefined : id,
  })
  const below = meaning !== undefined && el('p', { class: 'hint', id }, meaning)
  return { row: div('check-field', box.row, below), input: box.input }
}

interface SomeOf<T> {
  legend: string
  choices: readonly { value: T; label: Child; checked: boolean }[]
  /** The error shown when none is ticked. */
  missing: string
}

/** Boxes of which at least one must be ticked: if none is, `read` returns undefined and the boxes show the error. */
export function someOf<T>(wanted: SomeOf<T>): { element: HTMLElement; read(): T[] | undefined } {
  const { boxes, error, read } = boxesFor(wanted)
  const rows = boxes.map(({ row }) => row)
  return { element: fieldset(wanted.legend, error, ...rows), read }
}

interface AllOrSome<T> extends SomeOf<T> {
  /** The labels of the two options. */
  all: string
  some: string
  /** Whether `all` is chosen at first. */
  isAll: boolean
  note?: string | undefined
}

/** A choice between everything, also later additions, and only the ticked boxes; `read` works as in `someOf`. */
export function allOrSome<T>(wanted: AllOrSome<T>) {
  const name = freshId('choice')
  const all = tick('radio', wanted.all, { name, checked: wanted.isAll })
  const some = tick('radio', wanted.some, { name, checked: !wanted.isAll })
  const { boxes, error, read, clear } = boxesFor(wanted)
  const list = div('sub-fields', ...boxes.map(({ row }) => row))
  const follow = (): void => {
    list.hidden = !some.input.checked
    clear()
  }
  for (const { input } of [all, some]) input.addEventListener('change', follow)
  follow()
  const note = wanted.note !== undefined && hint(wanted.note)
  return {
    element: fieldset(wanted.legend, error, all.row, some.row, list, note),
    read: () => (some.input.checked ? read() : ('all' as const)),
  }
}

function boxesFor<T>({ choices, missing }: SomeOf<T>) {
  const error = el('p', { class: 'field-error', id: freshId('choices-error') })
  const boxes = choices.map(({ value, label, checked }) => ({
    value,
    ...tick('checkbox', label, { checked }),
  }))
  const say = (message: string): void => {
    error.textContent = message
    for (const { input } of boxes) input.setAttribute('aria-invalid', String(message !== ''))
  }
  const clear = (): void => say('')
  for (const { input } of boxes) input.addEventListener('change', clear)
  const read = (): T[] | undefined => {
    const chosen = boxes.filter(({ input }) => input.checked).map(({ value }) => value)
    if (chosen.length > 0) return chosen
    say(missing)
    boxes[0]?.input.focus()
    return undefined
  }
  return { boxes, error, read, clear }
}

function fieldset(legend: string, error: HTMLElement, ...parts: Child[]): HTMLElement {
  return el('fieldset', { 'aria-describedby': error.id }, el('legend', {}, legend), ...parts, error)
}

export type ChoiceField = ReturnType<typeof choiceField>

/** A value with its label, or a named group of such values. */
export type Choice =
  | readonly [value: string, label: string]
  | { group: string; choices: readonly (readonly [value: string, label: string])[] }

interface ChoiceOptions {
  label: string
  name: string
  choices: readonly Choice[]
  /** The initial value; added as it is if no choice has it, so that a value set elsewhere is not lost unseen. */
  value?: string
}

/** A labelled list to choose one value from, with a place for its error. */
export function choiceField({ label, name, choices, value = '' }: ChoiceOptions) {
  const input = el('select', { id: freshId(name), name, class: 'select' }, ...choices.map(choiceElement))
  if (![...input.options].some((option) => option.value === value)) input.append(optionOf([value, value]))
  // Selects it, and has it count as the value that was there before any change.
  for (const option of input.options) option.defaultSelected = option.value === value
  const tied = tie(input, label)
  input.addEventListener('change', () => tied.setError())
  return tied
}

function choiceElement(choice: Choice): HTMLElement {
  if (!('group' in choice)) return optionOf(choice)
  return el('optgroup', { label: choice.group }, ...choice.choices.map(optionOf))
}

/** An option cannot isolate the direction of its text: hidden characters are written out (T43). */
function optionOf([value, label]: readonly [string, string]): HTMLOptionElement {
  return el('option', { value }, visibleString(label))
}

/** The search field of a list. */
export function searchField(value: string, placeholder: string): Field {
  return field({
    label: 'Search',
    name: 'q',
    attributes: { type: 'search', value, autocomplete: 'off', placeholder },
  })
}

/** A field for a day of the reader's own calendar. */
export function dayField(name: string, label: string, value: string): Field {
  return field({ label, name, attributes: { type: 'date', value } })
}

/** A field for how many people must approve. */
export function quorumField(label: string, meaning: string, value: number | undefined): Field {
  const look = { inputmode: 'numeric', autocomplete: 'off', maxlength: 2, class: 'input short-input' }
  return field({ label, name: 'quorum', hint: meaning, attributes: { ...look, value } })
}

/** Reads the quorum; undefined if it is no number from 1 to `most`. `alone` says why only 1 is possible. */
export function readQuorum(quorum: Field, most: number, alone: string): number | undefined {
  const said = quorum.input.value.trim()
  const needed = /^\d+$/.test(said) ? Number(said) : 0
  if (needed >= 1 && needed <= most) return needed
  return wrong(quorum, most === 1 ? `${alone}: enter 1.` : `Enter a number from 1 to ${most}.`)
}
