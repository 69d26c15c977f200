import { type Field, field } from '../../webauthn-page/kit/dom/field.ts'

const MOST = 5

/** When to remind by itself, in percent of the time a request has. */
export interface ReminderField extends Field {
  /** Fractions in ascending order; undefined when something is wrong, and the field says so. */
  read(): number[] | undefined
}

export function reminderField(reminders: readonly number[]): ReminderField {
  const reminded = field({
    label: 'Reminders',
    name: 'reminders',
    hint: `In percent of the time a request has, such as “50, 90”. At most ${MOST}; empty for none.`,
    attributes: {
      autocomplete: 'off',
      maxlength: 40,
      class: 'input list-input',
      value: reminders.map((fraction) => Math.round(fraction * 100)).join(', '),
    },
  })
  const read = (): number[] | undefined => {
    const said = reminded.input.value.split(/[\s,;%]+/).filter((part) => part !== '')
    const percents = [...new Set(said.map(Number))].sort((a, b) => a - b)
    const good = percents.every((percent) => Number.isInteger(percent) && percent >= 1 && percent <= 99)
    if (good && percents.length <= MOST) return percents.map((percent) => percent / 100)
    reminded.setError(`Enter up to ${MOST} whole numbers from 1 to 99, or nothing.`)
    reminded.input.focus()
    return undefined
  }
  return { ...reminded, read }
}
