import { copyButton } from '../../webauthn-page/kit/dom/button.ts'
import { div, el } from '../../webauthn-page/kit/dom/element.ts'

/** A secret to be copied; `what` completes the name of the button ("Copy the signing secret"). */
export function secretBox(secret: string, what: string): HTMLElement {
  return copyBox(el('code', { class: 'mono' }, secret), secret, what)
}

/** A text with more lines than this scrolls in its box, also by keyboard; shorter ones are shown in full. */
const MOST_LINES = 12

/** A command with its own line breaks; long lines wrap, but Copy and a selection take the text without the wraps. */
export function command(text: string, what: string): HTMLElement {
  const scrolls = text.split('\n').length > MOST_LINES
  const attributes = scrolls ? { class: 'command scrolls', tabindex: 0 } : { class: 'command' }
  return copyBox(el('pre', { ...attributes, role: 'group', 'aria-label': what }, text), text, what)
}

function copyBox(shown: HTMLElement, text: string, what: string): HTMLElement {
  return div('copyable secret-box', shown, copyButton(text, what))
}

/** The command that asks for a first approval; the key is in double quotes, since it may be the name of a variable. */
export function askCommand(rawKey: string, origin: string): string {
  return [
    `curl -X POST ${origin}/api/v1/approvals/request \\`,
    `  -H "Authorization: Bearer ${rawKey}" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${FIRST_ACTION}'`,
  ].join('\n')
}

/** Letter by letter the request that README.md makes, and whose approval it uses up afterwards. */
const FIRST_ACTION = `{
    "action": "Deploy release 4.2 to production",
    "context": {
      "agent_name": "deploy-bot",
      "tool": "deploy",
      "tool_arguments": { "service": "checkout", "version": "4.2" }
    }
  }`

/** The commands that install the client for callers, as README.md gives them. */
export const INSTALL_CLIENT = [
  'npm pack --workspace @countersign/client --pack-destination /tmp',
  "npm install /tmp/countersign-client-0.1.0.tgz   # in your agent's folder",
].join('\n')

/** Letter by letter the `agent.ts` of README.md, for the service at `origin`. */
export function agentCode(origin: string): string {
  return [
    "import { countersign } from '@countersign/client'",
    '',
    `const cs = countersign({ url: '${origin}', key: process.env.COUNTERSIGN_KEY })`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a program.
    'const deploy = cs.guard(async (service: string, version: string) => console.log(`deploying ${service} ${version}`), {',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as above.
    '  action: (service, version) => `Deploy ${service} ${version} to production`,',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as above.
    '  for: (service, version) => [`release ${version}`, service],',
    '})',
    "await deploy('checkout', '4.2')",
  ].join('\n')
}
