import { may, roleIn } from '../../domain/account.ts'
import { type ChatPlatform, identityKey } from '../../domain/chat.ts'
import { Refusal } from '../../domain/errors.ts'
import { readPaste } from '../../domain/read-paste.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { visibleLine, visibleString } from '../../domain/text.ts'
import { textWarnings } from '../../domain/text-warnings.ts'
import type { User } from '../../domain/user.ts'
import { parseReceiptInput } from '../../signing/receipt-input.ts'
import type { VerifyResult } from '../../signing/verify-core.ts'
import { verifyReceiptJson } from '../../signing/verify-node.ts'
import { type JudgedTogether, judgeTogether } from '../../signing/votes.ts'
import type { FlowDeps } from '../deps.ts'
import { inboxScopeOf, partIn } from '../people/delegates.ts'
import {
  type Asker,
  logRefusedVerification,
  logVerification,
  verifyByDecisionId,
  verifyDecision,
} from '../requests/verify-receipt.ts'
import { type ChatAnswer, type ChatSpeaker, commandLine, notices, type PendingRow } from './chat-answer.ts'
import { askForBrowser, askForChannel, askToLink, limitSpeaker } from './chat-links.ts'
import { unlinkIdentity } from './link-identity.ts'
import { type Asked, type Command, parseCommand } from './parse-command.ts'
import { type VerdictView, viewPastedReceipt, viewVerdict } from './verdict.ts'

/**
 * Answers a command typed in chat. `text` is the command as the person meant it: the adapter has removed mentions of the app
 * and the platform's escaping. Only the platform vouches for the speaker: they can verify what anyone may verify, see the
 * requests that wait for the person who linked them, and get links; they never decide and never sign in (T37).
 * @throws only when the store does not answer
 */
export async function answerCommand(deps: FlowDeps, speaker: ChatSpeaker, text: string): Promise<ChatAnswer> {
  const command = parseCommand(text, deps.settings.baseUrl)
  if (command.verb === 'verify') {
    const refused = await limitSpeaker(deps, speaker.identity, 'look')
    if (refused === undefined) return answerVerify(deps, speaker, command)
    logRefused(deps, speaker, command.asked)
    return refused
  }
  const person = await personOf(deps, speaker)
  const answer = await answerPerson(deps, speaker, person, command)
  return answer.kind === 'link' && command.more ? { ...answer, words_ignored: true } : answer
}

/** Finds the person who linked the speaker's identity. */
function personOf({ users }: FlowDeps, { identity }: ChatSpeaker): Promise<User | undefined> {
  return users.findByIdentity(identityKey(identity))
}

async function answerPerson(
  deps: FlowDeps,
  speaker: ChatSpeaker,
  person: User | undefined,
  { verb, more }: Exclude<Command, { verb: 'verify' }>,
): Promise<ChatAnswer> {
  const { platform } = speaker.identity
  if (verb === 'help' || verb === 'unknown') return answerHelp(platform, person, verb)
  if (verb === 'link') return askToLink(deps, speaker, person)
  // `unlink <name>` would remove the speaker's own link, not the link of the person named.
  if (verb === 'unlink' && more) return notices.unlinksYouAlone(platform)
  if (person === undefined) return verb === 'unlink' ? notices.wasNotLinked() : notices.notLinked(platform)
  switch (verb) {
    case 'pending':
      return (await limitSpeaker(deps, speaker.identity, 'look')) ?? answerPending(deps, person)
    case 'browser':
      return askForBrowser(deps, speaker, person)
    case 'channel':
      return askForChannel(deps, speaker, person)
    case 'unlink':
      return unlink(deps, speaker, person)
  }
}

async function unlink(deps: FlowDeps, { identity }: ChatSpeaker, person: User): Promise<ChatAnswer> {
  try {
    await unlinkIdentity(deps, { userId: person.id, key: identityKey(identity), inChat: true })
    return notices.unlinked(identity.platform)
  } catch (error) {
    // The link was removed at the same moment, on the account page or by a second click.
    if (error instanceof Refusal && error.code === 'not_found') return notices.wasNotLinked()
    throw error
  }
}

const SHARED = 'verify <id or receipt> share'

const COMMANDS = [
  {
    usage: 'verify <id or receipt>',
    does: 'Check an approval: req_…, dec_…, its page’s address or a pasted receipt.',
  },
  { usage: SHARED, does: 'The same, shown to everyone here.' },
  { usage: 'pending', does: 'List your pending requests.' },
  { usage: 'link', does: 'Link yourself to your Countersign account.' },
  { usage: 'unlink', does: 'Unlink yourself.' },
  { usage: 'browser', does: 'Trust a browser for signing in with codes.' },
  { usage: 'channel', does: 'Notify this channel of every request of your account.' },
  { usage: 'help', does: 'Show this list.' },
]

/** Answers `help`: the commands and the person the speaker is linked to. In Teams everyone present reads the answer anyway. */
export function answerHelp(
  platform: ChatPlatform,
  person: User | undefined,
  verb: 'help' | 'unknown',
): ChatAnswer & { kind: 'help' } {
  return {
    kind: 'help',
    ...(verb === 'unknown' ? { unknown: true as const } : {}),
    ...(person === undefined ? {} : { linked_as: visibleString(`${person.name} (${person.email})`) }),
    commands: COMMANDS.filter(({ usage }) => platform === 'slack' || usage !== SHARED),
  }
}

const MOST_ROWS = 10

/**
 * Answers `pending`: the requests that wait for this person, the soonest deadline first, with links to the pages where they
 * are decided. Of agents that ask for a key only the number is shown, since they choose their names themselves.
 */
export async function answerPending(deps: FlowDeps, person: User): Promise<ChatAnswer & { kind: 'pending' }> {
  const { requests, settings } = deps
  const { length: agents } = await deps.bootstraps.waitingFor(person.account_id)
  const who = await inboxScopeOf(deps, person)
  const found = await requests.pendingFor(who, MOST_ROWS)
  const all = found.length < MOST_ROWS ? found.length : await requests.countPendingFor(who)
  return {
    kind: 'pending',
    rows: found.map((request) => rowOf(request, settings.baseUrl)),
    more: Math.max(0, all - found.length),
    ...(agents === 0 ? {} : { agents }),
    open: `${settings.baseUrl}/`,
  }
}

function rowOf(request: ApprovalRequest, baseUrl: string): PendingRow {
  const { key_name, account_name } = request.requested_by
  return {
    request_id: request.id,
    action: visibleString(request.action),
    ...textWarnings([request.action]),
    requested_by: visibleLine(`${key_name} of ${account_name}`),
    high_impact: request.high_impact,
    expires_at: request.expires_at,
    url: `${baseUrl}/a/${request.id}`,
  }
}

/** Answers `verify`: the public verification, for anyone who can write to the app. Each one is logged as made in chat. */
async function answerVerify(
  deps: FlowDeps,
  speaker: ChatSpeaker,
  { asked, share, slash }: Command & { verb: 'verify' },
): Promise<ChatAnswer> {
  const { platform } = speaker.identity
  const asker = { kind: 'chat', id: identityKey(speaker.identity) } as const
  const verify = slash ? '/verify' : commandLine(platform, 'verify')
  if (asked.kind === 'nothing') return notices.verifyWhat(verify)
  if (asked.kind === 'other') return notices.nothingToVerify(verify)
  const view = await verdictOn(deps, asker, asked)
  if (view === undefined) return notices.unreadable(verify)
  // In Slack only the speaker sees the answer unless they share it.
  const alone = platform === 'slack' ? !share : speaker.channel === undefined
  const action = alone ? await actionFor(deps, speaker, view) : undefined
  return { kind: 'verdict', view: action === undefined ? view : { ...view, action }, share }
}

/** Returns the action for a person who may read the request: a receipt contains only the hash of the action. */
async function actionFor(
  deps: FlowDeps,
  speaker: ChatSpeaker,
  { facts }: VerdictView,
): Promise<string | undefined> {
  const person = facts === undefined ? undefined : await personOf(deps, speaker)
  if (facts === undefined || person === undefined) return undefined
  const request = await deps.requests.find(facts.request_id)
  const account = request === undefined ? undefined : await deps.accounts.find(request.account_id)
  if (request === undefined || account === undefined) return undefined
  const reads =
    may(roleIn(account, person.id), 'read_all') || (await partIn(deps, person, request)) !== undefined
  return reads ? visibleString(request.action) : undefined
}

/** Logs, in bulk, verifications that the rate limit refused: they are attempts as well. */
function logRefused(deps: FlowDeps, { identity }: ChatSpeaker, asked: Asked): void {
  if (asked.kind === 'nothing' || asked.kind === 'other') return
  const asker = { kind: 'chat', id: identityKey(identity) } as const
  logRefusedVerification(deps, asker, asked.kind === 'receipt' ? PASTED : asked.id, 'rate_limited')
}

/** Stands in the trail in place of an id. */
const PASTED = 'pasted receipt'

async function verdictOn(
  deps: FlowDeps,
  asker: Asker,
  asked: Exclude<Asked, { kind: 'nothing' | 'other' }>,
): Promise<VerdictView | undefined> {
  const { baseUrl } = deps.settings
  if (asked.kind === 'receipt') {
    const receipt = readPaste(asked.text)
    if (receipt === undefined) return undefined
    const judged = await verifyPasted(deps, receipt)
    await logPasted(deps, asker, judged.result)
    return viewPastedReceipt(asked.text, judged, baseUrl)
  }
  const verify = asked.kind === 'request' ? verifyDecision : verifyByDecisionId
  return viewVerdict(asked.id, await verify(deps, asked.id, asker), baseUrl)
}

/** Verifies as anyone can offline with our published keys, and also accepts a key that another process has just made. */
async function verifyPasted({ keys, restores, clock }: FlowDeps, receipt: object): Promise<JudgedTogether> {
  const options = { allowSandbox: true, now: clock.now() }
  const past = restores.times()
  const published = () => keys.ring().publicRecords()
  const check = (json: unknown) =>
    verifyReceiptJson(
      json,
      published().map((key) => ({ ...key, restores: past })),
      options,
    )
  const verify = () => judgeTogether(receipt, check)
  const judged = verify()
  const unknown = ({ result }: JudgedTogether) => !result.valid && result.code === 'receipt_key_unknown'
  if (!unknown(judged)) return judged
  const { kid } = parseReceiptInput(judged.shown)
  const again = kid !== undefined && (await keys.find(kid)) !== undefined ? verify() : judged
  if (again.result.valid || !unknown(again)) return again
  const message = 'It was not signed with a key of this service, as its receipts are.'
  return { ...again, result: { ...again.result, message } }
}

async function logPasted(deps: FlowDeps, asker: Asker, result: VerifyResult): Promise<void> {
  if (!result.valid) return logVerification(deps, asker, { id: PASTED }, result.code)
  const { rid } = result.payload
  logVerification(deps, asker, (await deps.requests.find(rid)) ?? { id: rid }, 'valid')
}
