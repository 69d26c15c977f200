import { visibleString } from '../../src/domain/text.ts'
import { type Child, div, el, freshId, hint } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field, tick, tie, wrong } from '../../webauthn-page/kit/dom/form.ts'

/** A box to tick, its label and, below, what it means. */
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
  /** Said when none is ticked. */
  missing: string
}

/** Boxes of which at least one must be ticked: `read` gives undefined, and the boxes say so, when none is. */
export function someOf<T>(wanted: SomeOf<T>): { element: HTMLElement; read(): T[] | undefined } {
  const { boxes, error, read } = boxesFor(wanted)
  const rows = boxes.map(({ row }) => row)
  return { element: fieldset(wanted.legend, error, ...rows), read }
}

interface AllOrSome<T> extends SomeOf<T> {
  /** The labels of the two ways. */
  all: string
  some: string
  /** Which of them is chosen at first. */
  isAll: boolean
  note?: string | undefined
}

/** Everything there is, later ones too, or only what is ticked; `read` as in `someOf`. */
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

/** One value and how people call it, or several under a name. */
export type Choice =
  | readonly [value: string, label: string]
  | { group: string; choices: readonly (readonly [value: string, label: string])[] }

interface ChoiceOptions {
  label: string
  name: string
  choices: readonly Choice[]
  /** Chosen at first; added as it is when no choice has it, so that nothing chosen elsewhere is lost unseen. */
  value?: string
}

/** A labelled list to choose one value from, with a place for its error. */
export function choiceField({ label, name, choices, value = '' }: ChoiceOptions) {
  const input = el('select', { id: freshId(name), name, class: 'select' }, ...choices.map(choiceElement))
  if (![...input.options].some((option) => option.value === value)) input.append(optionOf([value, value]))
  input.value = value
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

/** A field for what a list is searched for. */
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

/** What it says; undefined where that is no number of people up to `most`. `alone` says why it may only be 1. */
export function readQuorum(quorum: Field, most: number, alone: string): number | undefined {
  const said = quorum.input.value.trim()
  const needed = /^\d+$/.test(said) ? Number(said) : 0
  if (needed >= 1 && needed <= most) return needed
  return wrong(quorum, most === 1 ? `${alone}: enter 1.` : `Enter a number from 1 to ${most}.`)
}
