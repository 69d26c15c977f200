import type { volumesField } from '../../src/http/api/hearing.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { div } from '../../webauthn-page/kit/dom/element.ts'
import { choiceField } from './fields.ts'

type Volumes = Answer<typeof volumesField>

const CHOICES = [
  ['all', 'All requests'],
  ['high_impact', 'Only high impact'],
  ['none', 'Nothing'],
] as const

const DIGEST = ['digest', 'High impact at once, others in one mail an hour'] as const

/** Which requests each channel tells. @param withMail false where the service sends none: that choice is kept unseen */
export function volumeFields(volumes: Volumes, withMail: boolean) {
  const [all, high, none] = CHOICES
  const pick = (
    channel: keyof Volumes,
    label: string,
    choices: Parameters<typeof choiceField>[0]['choices'],
  ) => choiceField({ label, name: `hear-${channel}`, choices, value: volumes[channel] })
  const chat = pick('chat', 'In Slack and Teams', CHOICES)
  const browser = pick('browser', 'Notifications of browsers', CHOICES)
  const mail = pick('mail', 'By e-mail', [all, DIGEST, high, none])
  return {
    element: div('section-body sub-fields', chat.row, browser.row, withMail && mail.row),
    /** The values are those of the choices above, or came from the service. */
    read: () => ({ chat: chat.input.value, browser: browser.input.value, mail: mail.input.value }),
  }
}
