import type { Rate } from '../../../adapters/shared/pacer.ts'
import { createSlackPort, type SlackPortParts } from '../../../adapters/slack/port.ts'
import { SLACK_RATES, type SlackRates } from '../../../adapters/slack/web-calls.ts'
import { createWorkspaces, type Workspaces } from '../../../adapters/slack/workspaces.ts'
import type { SlackSettings } from '../../../src/config/slack.ts'
import type { ChatPort, Vault } from '../../../src/ports/ports.ts'
import type { ChatInstallation, ChatInstallationStore } from '../../../src/store/chat/chat-installations.ts'
import { clockOf } from '../../support/clock.ts'
import { collectingLog, type TestService } from '../../support/service.ts'
import type { SlackEmulator } from '../../support/slack-emulator.ts'

const systemClock = clockOf()

/** Twenty times as fast as Slack would allow. */
const QUICK_RATES = ratesTimes(20)

/** The real pace, on a clock that goes that many times faster. */
export function ratesTimes(speed: number): SlackRates {
  const faster = ({ every, burst }: Rate): Rate => ({ every: every / speed, burst })
  const { conversation, posts, method } = SLACK_RATES
  return { conversation: faster(conversation), posts: faster(posts), method: faster(method) }
}

export interface PortSetting {
  port: ChatPort
  workspaces: Workspaces
  logged: TestService['logged']
}

/** The sending half by itself, with the one token of that workspace. */
export function portTo(
  slack: Pick<SlackEmulator, 'apiUrl' | 'botToken'>,
  rates: SlackRates = QUICK_RATES,
  clock = systemClock,
): PortSetting {
  const kind = { kind: 'one', botToken: slack.botToken } as const
  return assemble(slack.apiUrl, kind, [], { rates, clock })
}

/** The same with workspaces that installed the app; `installed` may change meanwhile. */
export function portToMany(apiUrl: string, installed: ChatInstallation[]): PortSetting {
  const kind = { kind: 'many', clientId: 'id', clientSecret: 'secret' } as const
  return assemble(apiUrl, kind, installed, { rates: QUICK_RATES, clock: systemClock })
}

function assemble(
  apiUrl: string,
  kind: SlackSettings['workspaces'],
  installed: ChatInstallation[],
  pace: Pick<SlackPortParts, 'rates' | 'clock'>,
): PortSetting {
  const logged: TestService['logged'] = []
  const log = collectingLog(logged)
  const settings: SlackSettings = {
    apiUrl,
    workspaces: kind,
    receive: { kind: 'http', signingSecret: 'unused' },
  }
  const parts = { installations: storeOf(installed), vault: OPEN_VAULT, log }
  const workspaces = createWorkspaces(settings, parts)
  return { port: createSlackPort(workspaces, { log, ...pace }), workspaces, logged }
}

/** Reads a list as the store reads its collection. */
function storeOf(installed: ChatInstallation[]): ChatInstallationStore {
  const find = (tenant: string) => installed.find((one) => one.tenant === tenant)
  return {
    put: async (installation) => installed.push(installation) > 0,
    find: async (_platform, tenant) => find(tenant),
    list: async () => installed,
    ofAccount: async (_platform, accountId) =>
      installed.filter(({ account_ids }) => account_ids.includes(accountId)),
    remove: async ({ tenant }) => find(tenant),
    leave: async (_platform, tenant) => find(tenant),
  }
}

/** Seals by writing down what the text belongs to: enough to see that the right one is opened. */
export const OPEN_VAULT: Vault = {
  hash: (purpose, value) => `${purpose} ${value}`,
  seal: (plaintext, aad) => JSON.stringify({ aad, text: Buffer.from(plaintext).toString('utf8') }),
  open(sealed, aad) {
    const read = Object(JSON.parse(sealed))
    if (read.aad !== aad) throw new Error('sealed for something else')
    return Buffer.from(String(read.text), 'utf8')
  },
  webhookSecret: () => '',
  fingerprints: () => ({}),
}
