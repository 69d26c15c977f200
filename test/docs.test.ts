import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { isCallerCommand } from '../packages/client/cli/run-caller.ts'
import { packagePath } from '../src/config/package-path.ts'
import { createBody } from '../src/http/api/approvals-create.ts'
import { makeCertificate, receive } from './outbound/receiver.ts'
import { cli } from './support/cli.ts'
import { expectStatus } from './support/enrolled.ts'
import { createHttpClient, type HttpClient } from './support/http-client.ts'
import { LIGHT_NPX } from './support/npx.ts'
import { readZip } from './support/read-zip.ts'
import { freePort } from './support/service.ts'
import { type ServiceProcess, startServiceProcess } from './support/service-process.ts'
import { useSlack } from './support/slack-emulator.ts'
import { createSoftAuthenticator } from './support/soft-authenticator.ts'
import { startTeamsIdentity } from './support/teams-identity.ts'

const PAGES = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  ...readdirSync(packagePath('docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(packagePath(path), 'utf8') }))

/** What a reader is told to type; CI itself runs what CONTRIBUTING says. Blocks in lists are indented. */
const BLOCKS = PAGES.filter(({ path }) => path !== 'CONTRIBUTING.md')
  .flatMap(({ text }) => [...text.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)])
  .map((match) => match[1] ?? '')

let folder: string
let url: string
let service: ServiceProcess
let browser: HttpClient
let environment: Record<string, string>
const authenticator = createSoftAuthenticator()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-readme-'))
  const port = String(await freePort())
  url = `http://localhost:${port}`
  environment = { DATA_DIR: join(folder, 'data'), PORT: port }
  service = await startServiceProcess(environment)
  browser = createHttpClient(url)
})

afterAll(async () => {
  await service.end('SIGTERM')
  await rm(folder, { recursive: true, force: true })
})

/**
 * Runs a block of the documents as it stands, but for the port, in the package's folder; files go to the temporary one.
 * @param npx what stands for it; nothing: npx itself
 */
async function run(block: string, variables: Record<string, string> = {}, npx = LIGHT_NPX): Promise<string> {
  const script = block
    .replace(/^ *export \w+=.*$/gm, '')
    .replaceAll('http://localhost:3000', url)
    .replace(/(?<![/\w])(decision|jwks|countersign\.receipt)\.json/g, join(folder, '$1.json'))
    .replace('teams package', `teams package --out ${join(folder, 'countersign-teams.zip')}`)
  // npm looks for a newer npm now and then, and tells of it on stderr.
  const npm = { npm_config_update_notifier: 'false', STORE_TIMEOUT_MS: '90000' }
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' }
  const env = { ...inherited, ...npm, ...environment, ...variables }
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-euc', npx + script], {
    cwd: packagePath('.'),
    env,
  })
  expect(stderr.replace(/^npm warn.*$/gm, '').trim()).toBe('')
  return stdout
}

function block(word: string): string {
  return (
    BLOCKS.find((text) => text.includes(word)) ?? expect.unreachable(`no document has a command with ${word}`)
  )
}

describe('the documents', () => {
  it('has only commands that this test or CI runs', () => {
    const known = [
      'npm ci && npm start',
      'approvals/request',
      '/consume',
      'countersign verify',
      'key create',
      'TEST_KEY',
      'api/v1/bootstrap',
      'webhook-secret', // this, the receivers and the agent: test/examples
      'examples/receiver',
      'examples/agent',
      'npm pack --workspace', // scripts/try-client.mjs, by npm run check
      'countersign ask', // test/examples/agents.test.ts
      'countersign gateway', // scripts/try-gateway.mjs, by npm run check
      'slack manifest',
      'doctor slack',
      'teams package',
      'doctor teams',
      'npm ci && npm test',
      // test/deploy/deploy-commands.test.ts
      'countersign.mjs store',
      'countersign.mjs serve',
      'countersign export', // test/cli/move.test.ts
      'backup drill',
      'ssh-keygen -Y verify', // scripts/release.mjs, by npm run check
    ]
    const unknown = BLOCKS.filter((text) => !known.some((word) => text.includes(word)))
    expect(unknown).toEqual([])
    const ci = readFileSync(packagePath('.ci/run'), 'utf8')
    expect(ci).toContain('npm ci')
    expect(ci).toContain('npm test')
  })

  it('names in its sentences only commands and options that exist', async () => {
    const { stdout } = await cli(['completion', 'bash'], { env: {} })
    const lines = [...stdout.matchAll(/^ {4}'([^']*)'\) words='([^']*)' ;;$/gm)]
    const known = new Map(lines.map(([, at = '', words = '']) => [at, words.split(' ')]))
    const named = PAGES.flatMap(({ path, text }) =>
      [...text.matchAll(/`(?:npx )?countersign ([^`]+)`/g)].map(([, command = '']) => ({ path, command })),
    )
    const exists = (command: string): boolean => {
      const words = command.split(/\s+/)
      // The client's own commands, which it documents.
      if (isCallerCommand(words[0])) return true
      let at = ''
      for (let next = words[0]; next !== undefined && known.has(`${at} ${next}`.trim()); next = words[0]) {
        at = `${at} ${next}`.trim()
        words.shift()
      }
      const options = words.flatMap((word) => /^\[?(--[a-z-]+)/.exec(word)?.[1] ?? [])
      return (
        (at !== '' || /^[<-]/.test(command)) && options.every((option) => known.get(at)?.includes(option))
      )
    }
    expect(named.length).toBeGreaterThan(60)
    expect(named.filter(({ command }) => !exists(command))).toEqual([])
  })

  it('links only to files, and headings in them, that exist', () => {
    const links = PAGES.flatMap(({ path, text }) =>
      [...text.matchAll(/(?:\]\(|src(?:set)?=")(?!https?:)([^)"]+)[)"]/g)].map(([, link = '']) => ({
        path,
        link,
      })),
    )
    expect(links.length).toBeGreaterThan(50)
    expect(links.filter(({ path, link }) => !leadsSomewhere(path, link))).toEqual([])
  })

  it('gives on its first page only commands of containers that the page on deploying has, too', () => {
    const [readme] = PAGES
    // test/deploy/deploy-commands.test.ts tries those.
    const deploy = PAGES.find(({ path }) => path === 'docs/deploy.md')?.text ?? ''
    const commands = [...(readme?.text ?? '').matchAll(/^```shell\n([\s\S]*?)^```/gm)].map(([block]) => block)
    expect(commands.length).toBeGreaterThan(0)
    expect(commands.filter((block) => !deploy.includes(block))).toEqual([])
  })

  it('names only files that exist', () => {
    const ofCode = ['CONTRIBUTING.md', 'docs/architecture.md', 'docs/performance.md']
    const pages = PAGES.filter(({ path }) => ofCode.includes(path))
    const named = pages.map(({ text }) => text).join('\n')
    const paths = [...named.matchAll(/`([\w-]+\/[\w/.-]+\.(?:ts|mjs|md))`/g)].map(([, path = '']) => path)
    expect(paths.length).toBeGreaterThan(30)
    expect(
      paths.filter((path) => !existsSync(packagePath(`src/${path}`)) && !existsSync(packagePath(path))),
    ).toEqual([])
  })

  it('names in its walks through the code only functions and tests that exist', () => {
    const walks = readFileSync(packagePath('docs/architecture.md'), 'utf8').replace(/\s+/g, ' ')
    const textOf = (path: string) =>
      readFileSync(packagePath(existsSync(packagePath(`src/${path}`)) ? `src/${path}` : path), 'utf8')
    const titles = [...walks.matchAll(/`(test\/[\w/.-]+)` “([^”]+)”/g)]
    expect(titles.length).toBeGreaterThan(15)
    expect(titles.filter(([, path = '', title = '']) => !textOf(path).includes(title))).toEqual([])
    let file = ''
    const named = [...walks.matchAll(/`([\w/.-]+\.ts)`|`(\w+)\(\)`/g)].flatMap(([, path, name]) => {
      file = path ?? file
      return name === undefined ? [] : [{ file, name }]
    })
    expect(named.length).toBeGreaterThan(50)
    const isDeclared = ({ file, name }: { file: string; name: string }) =>
      new RegExp(`^ *(?:export )?(?:async )?(?:(?:function|const) )?${name}\\b *[(:<=]`, 'm').test(
        textOf(file),
      )
    expect(named.filter((one) => !isDeclared(one))).toEqual([])
  })

  it('lists every field that a request is asked with', () => {
    const api = PAGES.find(({ path }) => path === 'docs/api.md')?.text ?? ''
    const listed = [...api.matchAll(/^\| (`[a-z_`, ]+) \|.*\|.*\|$/gm)].flatMap(([, names = '']) =>
      names.replaceAll('`', '').split(', '),
    )
    expect(listed.sort()).toEqual(Object.keys(createBody.shape).sort())
  })

  it('lists every threat by its number, with a test that carries it', () => {
    const rows = [
      ...readFileSync(packagePath('docs/threats.md'), 'utf8').matchAll(
        /^\| (T\d+) .*`((?:packages\/client\/)?test\/.+)` \|$/gm,
      ),
    ]
    expect(rows.map(([, number]) => number)).toEqual(rows.map((_, index) => `T${index + 1}`))
    expect(rows.length).toBeGreaterThanOrEqual(98)
    const lost = rows.filter(([, number, path = '']) => {
      return !new RegExp(`\\b${number}\\b`).test(readFileSync(packagePath(path), 'utf8'))
    })
    expect(lost.map(([row]) => row)).toEqual([])
  })

  it('says how everything works in no more than 10 kB on its first page, and no sentence twice', () => {
    const [readme] = PAGES
    expect(Buffer.byteLength(readme?.text ?? '')).toBeLessThanOrEqual(10_000)
    const sentences = PAGES.flatMap(({ path, text }) =>
      sentencesOf(text).map((sentence) => ({ path, sentence })),
    )
    const first = new Map<string, string>()
    const twice = sentences.filter(({ path, sentence }) => {
      const was = first.get(sentence)
      first.set(sentence, was ?? path)
      return was !== undefined
    })
    expect(sentences.length).toBeGreaterThan(300)
    expect(twice).toEqual([])
  })

  it('says in at most 60 lines what a version changed, under the headings of Keep a Changelog, what to do first', () => {
    const [, ...versions] = readFileSync(packagePath('CHANGELOG.md'), 'utf8').split(/^(?=## )/m)
    expect(versions.length).toBeGreaterThan(0)
    for (const version of versions) {
      expect(version).toMatch(/^## \[\d+\.\d+\.\d+\] - /)
      expect(version.trimEnd().split('\n').length).toBeLessThanOrEqual(60)
      const headings = [...version.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading)
      const known = ['Do first', 'Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']
      expect(headings).toEqual(known.filter((heading) => headings.includes(heading)))
    }
  })

  it('leads a newcomer from the set-up link over the curl to a verified receipt', async () => {
    const [, token] = await service.line(/\/setup#([\w-]+)/)
    const person = { token, email: 'you@example.com', name: 'You' }
    const { options } = expectStatus(await browser.post('/api/v1/enrollment/passkey/options', person), 200)
    const credential = authenticator.register(options, { origin: url })
    expectStatus(
      await browser.post('/api/v1/enrollment/passkey', { token, passkey_name: 'laptop', credential }),
      201,
    )
    const { raw_key: COUNTERSIGN_KEY } = expectStatus(
      await browser.post('/api/v1/account/api-keys', { name: 'first' }),
      201,
    )

    const { id: ID, status } = JSON.parse(
      await run(block('"Deploy release 4.2 to production"'), { COUNTERSIGN_KEY }),
    )
    expect(status).toBe('pending')
    const [, link] = await service.line(new RegExp(`open=(${url}/a/${ID})`))
    expect((await fetch(link ?? '')).status).toBe(200)

    const asked = await browser.post(`/api/v1/approvals/${ID}/decision/options`, { decision: 'approved' })
    const passkey = authenticator.authenticate(expectStatus(asked, 200).options, { origin: url })
    expectStatus(
      await browser.post(`/api/v1/approvals/${ID}/decision`, { decision: 'approved', passkey }),
      200,
    )

    const output = await run(block('countersign verify'), { COUNTERSIGN_KEY, ID }, '')
    expect(output).toContain('"valid":true')
    expect(output).toMatch(/approved/)
    const saved = JSON.parse(readFileSync(join(folder, 'decision.json'), 'utf8'))
    expect(saved).toMatchObject({ id: ID, status: 'approved' })
    const bundle = await run(block('countersign.receipt.json'), { COUNTERSIGN_KEY, ID })
    expect(bundle).toMatch(
      /^GOOD: the request was approved\.\n.*\n {2}Action {5}Deploy release 4\.2 to production\n/,
    )

    const consume = () => run(block('/consume'), { COUNTERSIGN_KEY, ID })
    const used = JSON.parse(await consume())
    expect(used).toMatchObject({ request_id: ID, status: 'approved', consumed_at: expect.any(String) })
    expect(JSON.parse(await consume())).toMatchObject({ error: 'already_consumed' })
  })

  it('leads an agent from its question over the consent of the owner to a key', async () => {
    const asked = JSON.parse(await run(block('"client_name"')))
    const [code] = /[B-Z]{4}-[B-Z]{4}/.exec(asked.message) ?? []
    const { data } = expectStatus(await browser.get('/api/v1/account/bootstrap'), 200)
    const path = `/api/v1/account/bootstrap/${data[0].id}/decision`
    const said = { decision: 'approved', code }
    const { options } = expectStatus(await browser.post(`${path}/options`, said), 200)
    const passkey = authenticator.authenticate(options, { origin: url })
    expectStatus(await browser.post(path, { ...said, passkey }), 200)
    const collected = JSON.parse(await run(block('BOOTSTRAP_ID'), { BOOTSTRAP_ID: asked.bootstrap_id }))
    expect(collected).toEqual({ status: 'approved', api_key: expect.stringMatching(/^sa_live_/) })
  })

  it('backs up, restores elsewhere and checks what it restored, beside the service', async () => {
    expect(await run(block('backup drill'))).toMatch(
      /^The drill succeeded\. .* holds \d+ pending requests and \d+ unused approvals, and its audit trail is intact/,
    )
  })

  it('prints the manifest of a Slack app, and examines the connection to Slack', async () => {
    const manifest = JSON.parse(await run(block('slack manifest')))
    expect(manifest.settings).toMatchObject({ socket_mode_enabled: true })
    const slack = await useSlack({ scopes: manifest.oauth_config.scopes.bot })
    slack.behave(({ method }) => (method === 'apps.connections.open' ? { answer: { ok: true } } : undefined))
    const tokens = { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: 'xapp-1', SLACK_API_URL: slack.apiUrl }
    const said = await run(block('doctor slack'), tokens)
    expect(said).toMatch(/\nEverything is in order\.\n$/)
    expect(slack.calls.at(-1)).toMatchObject({ method: 'apps.connections.open', token: 'xapp-1' })
  })

  it('writes the package of a Teams app, and examines the connection to Teams', async () => {
    const [TEAMS_APP_ID, TEAMS_TENANT_ID] = [randomUUID(), randomUUID()]
    const bot = { TEAMS_APP_ID, TEAMS_APP_PASSWORD: 'secret', TEAMS_TENANT_ID }
    const BASE_URL = 'https://approvals.example.com'
    expect(await run(block('teams package'), { ...bot, BASE_URL })).toContain('valid by Microsoft’s schema')
    const [manifest] = readZip(join(folder, 'countersign-teams.zip'))
    expect(JSON.parse(String(manifest?.content))).toMatchObject({ id: TEAMS_APP_ID })

    const microsoft = await startTeamsIdentity({
      appId: TEAMS_APP_ID,
      appPassword: 'secret',
      tenantId: TEAMS_TENANT_ID,
    })
    onTestFinished(() => microsoft.close())
    const certificate = await makeCertificate('localhost')
    const authority = join(folder, 'authority.pem')
    await writeFile(authority, certificate.cert)
    const proxy = await receive((_request, response) => void response.writeHead(401).end(), certificate)
    const said = await run(block('doctor teams'), {
      ...bot,
      TEAMS_OPENID_URL: microsoft.openIdUrl,
      TEAMS_LOGIN_URL: microsoft.loginUrl,
      BASE_URL: `https://localhost:${proxy.port}`,
      NODE_EXTRA_CA_CERTS: authority,
    })
    expect(said).toMatch(/\nUsable, with 1 warning\.\n$/)
    expect(proxy.requests.map(({ url }) => url)).toEqual(['/api/messages'])
  })

  it('makes a sandbox key and a sandbox request', async () => {
    const { raw_key: TEST_KEY } = JSON.parse(await run(block('key create')))
    const made = JSON.parse(await run(block('TEST_KEY'), { TEST_KEY }))
    expect(made).toMatchObject({ status: 'pending', sandbox: true })
    const read = await fetch(`${url}/api/v1/approvals/${made.request_id}`, {
      headers: { Authorization: `Bearer ${TEST_KEY}` },
    })
    expect(await read.json()).toMatchObject({
      status: 'approved',
      sandbox: true,
      decision: { method: 'sandbox' },
    })
    expect(await run(block('--allow-sandbox'), { TEST_KEY, ID: made.request_id })).toMatch(
      /^VALID SANDBOX RECEIPT: a test approved this/,
    )
  })
})

/** Of prose: neither code, tables and headings, nor what is too short to say anything. */
function sentencesOf(text: string): string[] {
  return text
    .replace(/^ *```[\s\S]*?^ *```/gm, '')
    .replace(/^(#|\||<).*$/gm, '')
    .replace(/\s+/g, ' ')
    .split(/(?<=[.:!?]) (?=[A-Z*`[])/)
    .filter((sentence) => sentence.length > 50)
}

/** `slack.md#another-base_url`: the file is there, and the heading, as GitHub makes anchors of headings. */
function leadsSomewhere(page: string, link: string): boolean {
  const [name = '', anchor] = link.split('#')
  const path = name === '' ? page : normalize(join(dirname(page), name))
  if (!existsSync(packagePath(path))) return false
  if (anchor === undefined) return true
  const headings = readFileSync(packagePath(path), 'utf8').matchAll(/^#+ (.+)$/gm)
  const anchors = [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return anchors.includes(anchor)
}
