import { visibleString } from '../../src/domain/text.ts'
import { type ChatIdentity, okShape } from '../../webauthn-page/kit/api/contract.ts'
import { post } from '../../webauthn-page/kit/api/request.ts'
import { el, link } from '../../webauthn-page/kit/dom/element.ts'
import { day } from '../../webauthn-page/kit/dom/moment.ts'
import { chatName, nameWarnings } from '../../webauthn-page/kit/show/chat.ts'
import { askFirst } from '../parts/ask-first.ts'
import { rowPanel } from '../parts/row-panel.ts'
import { type Section, section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
import type { ChatApps, SlackWorkspace } from './chat-shapes.ts'
import { linkedPerson } from './linked-person.ts'
import { notSetUp } from './not-set-up.ts'

/** Is Slack set up, in which workspaces, and what to do next. */
export function slackSection(
  slack: ChatApps['slack'],
  identities: readonly ChatIdentity[],
  context: PageContext,
): HTMLElement {
  const part = section('Slack', 'Approvers get a card for every request. Nothing can be approved in Slack.')
  if (!slack.configured) {
    part.body.append(notSetUp('Slack', 'Cards in Slack', 'docs/slack.md'))
    return part.element
  }
  if (slack.mode === 'many') installable(part, slack.installations, context)
  else fixed(part, slack.installations)
  part.body.append(linkedPerson('slack', identities, context))
  return part.element
}

/** The operator's one workspace. */
function fixed(part: Section, [workspace]: readonly SlackWorkspace[]): void {
  if (workspace === undefined) {
    part.body.append(
      el(
        'p',
        {},
        'Slack is set up with one workspace, but Slack has not said yet which. If this stays so, have whoever runs this service try ',
        el('code', {}, 'npx countersign doctor'),
        '.',
      ),
    )
    return
  }
  const name = workspace.name ?? workspace.tenant
  part.body.append(
    el('p', {}, 'Cards go to the workspace ', chatName(name), '.'),
    ...nameWarnings(name),
    el(
      'p',
      { class: 'hint' },
      'Whoever runs this service has connected this one workspace, for all accounts; it cannot be changed here.',
    ),
  )
}

function installable(part: Section, workspaces: readonly SlackWorkspace[], context: PageContext): void {
  const add = link('/slack/install', workspaces.length === 0 ? 'Add to Slack' : 'Add another workspace', {
    class: `button ${workspaces.length === 0 ? 'primary' : 'plain'}`,
  })
  part.body.append(
    workspaces.length > 0
      ? el('ul', { class: 'entries' }, ...workspaces.map((one) => workspaceEntry(one, context)))
      : el(
          'p',
          {},
          'No workspace gets cards of this account yet. Add the app to one that you may install apps in.',
        ),
    el('div', { class: 'buttons' }, add),
  )
}

function workspaceEntry({ tenant, name, installed_at }: SlackWorkspace, context: PageContext): HTMLElement {
  const panel = rowPanel()
  const shown = name ?? tenant
  const remove = async (): Promise<void> => {
    const sure = await askFirst(
      'Remove this workspace?',
      'Remove',
      chatName(shown),
      ' gets no more cards of this account. The app itself stays there until somebody removes it in Slack, under “Manage apps”.',
    )
    if (!sure) return
    await post('/account/chat-apps/remove', { platform: 'slack', tenant }, okShape)
    await context.done('The workspace is removed.')
  }
  return el(
    'li',
    { class: 'entry chat-entry' },
    el(
      'div',
      {},
      el('p', { class: 'entry-name' }, chatName(shown)),
      el(
        'p',
        { class: 'hint' },
        'Slack workspace ',
        el('code', {}, tenant),
        ...(installed_at === null ? [] : [' · added ', day(installed_at)]),
      ),
      ...nameWarnings(shown),
    ),
    panel.opener('Remove', { 'aria-label': `Remove the workspace ${visibleString(shown)}` }, remove),
    panel.element,
  )
}
