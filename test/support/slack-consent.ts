import type { Answer, HttpClient } from './http-client.ts'
import type { SlackEmulator } from './slack-emulator.ts'

/** Starts an installation as this browser. @returns where it is sent: the consent page */
export async function startInstallation(browser: HttpClient): Promise<URL> {
  const { status, headers, body } = await browser.get('/slack/install')
  if (status !== 302) throw new Error(`not started: ${status} ${JSON.stringify(body)}`)
  return new URL(headers.get('location') ?? '')
}

/** Agrees on Slack's consent page as that member. @returns path and query of the address the browser is sent back to */
export async function consent(slack: SlackEmulator, page: URL, member: string): Promise<string> {
  const html = await (await fetch(page)).text()
  const forms = html.match(/<form[\s\S]*?<\/form>/g) ?? []
  const form = forms.find((text) => text.includes(`>${member}<`))
  if (form === undefined) throw new Error(`no ${member} on the consent page:\n${html}`)
  const fields = [...form.matchAll(/name="([^"]*)" value="([^"]*)"/g)]
  const response = await fetch(new URL(/action="([^"]*)"/.exec(form)?.[1] ?? '', slack.siteUrl), {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams(
      fields.map(([, name = '', value = '']): [string, string] => [name, plainText(value)]),
    ),
  })
  const back = new URL(response.headers.get('location') ?? '')
  return `${back.pathname}${back.search}`
}

/** A whole installation. @returns the last answer */
export async function install(slack: SlackEmulator, browser: HttpClient, member: string): Promise<Answer> {
  return browser.get(await consent(slack, await startInstallation(browser), member))
}

function plainText(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
