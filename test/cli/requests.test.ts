import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { SHELLS } from '../../src/cli/completion.ts'
import { createRelay, NO_LOOPS } from '../../src/flow/relay/relay.ts'
import { alter, lapse, stored } from '../support/caller.ts'
import { type CliRun, cli, useDataDir } from '../support/cli.ts'
import { holding } from '../support/holding.ts'
import { joinAccount } from '../support/joined.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../support/live.ts'
import { sampleDelivery } from '../support/sample-delivery.ts'
import { databaseUri, startService, TEST_SECRETS, type TestService } from '../support/service.ts'

let service: TestService
let one: LiveSetting
let other: LiveSetting
let env: Record<string, string>
beforeAll(async () => {
  const database = `test_${randomBytes(6).toString('hex')}`
  service = await startService({ database })
  env = { MONGODB_URI: databaseUri(inject('storeUri'), database), BASE_URL: service.url, ...TEST_SECRETS }
  one = await setUpOwner(service, 'one@example.com')
  other = await setUpOwner(service, 'other@example.com')
})
afterAll(() => service.close())

const run = (...words: string[]): Promise<CliRun> => cli(words, { env })
const json = async (...words: string[]) => {
  const { code, stderr, json } = await run(...words, '--json')
  expect([code, stderr]).toEqual([0, ''])
  return json()
}
const idsOf = ({ data }: { data: { id: string }[] }): string[] => data.map(({ id }) => id)

describe('countersign requests', () => {
  it('lists those of one account or of all, newest first and page by page, by the status that they have now', async () => {
    const ids = [await ask(one), await ask(other), await ask(one, { action: 'Second\u202e line' })]
    const [lapsed = '', foreign = '', newest = ''] = ids
    await lapse(service, lapsed)
    expect(idsOf(await json('requests', 'list')).slice(0, 3)).toEqual([newest, foreign, lapsed])
    const page = await json('requests', 'list', '--owner', 'one@example.com', '--limit', '1')
    expect([idsOf(page), page.next_cursor]).toEqual([[newest], newest])
    const rest = await json('requests', 'list', '--owner', 'one@example.com', '--after', newest)
    expect([idsOf(rest), rest.next_cursor]).toEqual([[lapsed], null])
    expect(rest.data[0]).toMatchObject({ status: 'expired', requested_by: { key_name: expect.any(String) } })
    expect(idsOf(await json('requests', 'list', '--status', 'pending'))).toEqual([newest, foreign])
    const { stdout } = await run('requests', 'list', '--limit', '1')
    expect(stdout).toMatch(
      /^REQUEST +STATUS +CONSUMED[^\n]+\nreq_\w+ +pending [^\n\u202e]+\nMore: --after req_\w+\n$/,
    )
  })

  it('shows a request with its approvers and votes', async () => {
    const id = await ask(one, { context: { reason: 'x' } })
    await one.owner.browser.get(`/api/v1/approvals/${id}/review`)
    await decideByPasskey(one, id, 'approved')
    expect(await json('requests', 'show', id)).toMatchObject({
      id,
      status: 'approved',
      context: { reason: 'x' },
      approvers: ['one@example.com'],
      votes: [{ decision: 'approved', method: 'passkey' }],
    })
    expect((await run('requests', 'show', id)).stdout).toContain(
      'Approvers: one@example.com\nVote: approved by ',
    )
  })

  it('tells withdrawn from expired, and what was consumed from what was only approved', async () => {
    const owner = await setUpOwner(service, 'statuses@example.com')
    const [lapsed, swept, withdrawn] = [await ask(owner), await ask(owner), await ask(owner)]
    await lapse(service, lapsed)
    await lapse(service, swept)
    await callWithKey(service, owner.key, `/${swept}`)
    await callWithKey(service, owner.key, `/${withdrawn}/cancel`, {})
    const [approved, consumed] = [await ask(owner), await ask(owner)]
    for (const id of [approved, consumed]) await decideByPasskey(owner, id, 'approved')
    expect((await callWithKey(service, owner.key, `/${consumed}/consume`, {})).status).toBe(200)
    const list = async (status: string) =>
      json('requests', 'list', '--owner', 'statuses@example.com', '--status', status)
    expect(idsOf(await list('expired'))).toEqual([swept, lapsed])
    expect(idsOf(await list('withdrawn'))).toEqual([withdrawn])
    expect(idsOf(await list('approved'))).toEqual([consumed, approved])
    const used = await list('consumed')
    expect(used.data).toMatchObject([{ id: consumed, status: 'approved', consumed_at: expect.any(String) }])
    expect((await list('withdrawn')).data).toMatchObject([{ status: 'withdrawn', cancelled: true }])
    const { consumed_at } = used.data[0]
    const { stdout } = await run('requests', 'list', '--owner', 'statuses@example.com')
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3))
    expect(rows).toContainEqual([consumed, 'approved', consumed_at])
    expect(rows).toContainEqual([withdrawn, 'withdrawn', expect.any(String)])
    expect((await run('requests', 'show', consumed)).stdout).toContain(`\nConsumed at ${consumed_at}\n`)
    expect((await run('requests', 'show', withdrawn)).stdout).toContain(`${withdrawn}  withdrawn\n`)
    expect((await run('requests', 'list', '--status', 'used')).stderr).toContain('choose among pending')
  })

  it('withdraws a pending one, and says why another cannot be', async () => {
    const id = await ask(one)
    expect(await json('requests', 'cancel', id)).toEqual({ id, status: 'withdrawn', cancelled: true })
    const refused = async (...words: string[]) => (await run(...words, '--json')).error()
    expect(await refused('requests', 'cancel', id)).toEqual({
      error: 'not_pending',
      message: `${id} is withdrawn; only a pending request can be withdrawn.`,
    })
    const message = 'There is no request req_x; see: countersign requests list'
    expect(await refused('requests', 'show', 'req_x')).toEqual({ error: 'not_found', message })
    expect(await refused('requests', 'list', '--limit', '0')).toMatchObject({ error: 'usage' })
  })
})

describe('countersign webhooks', () => {
  it('lists webhooks and deliveries, and sends one again', async () => {
    const { deps } = service.composition
    const { account_id } = (await deps.users.find(one.owner.userId)) ?? { account_id: '' }
    const url = 'https://example.com/hook'
    const made = await one.owner.browser.post('/api/v1/account/webhooks', {
      url,
      events: ['approval.approved'],
    })
    const webhook_id = String(Object(made.body).webhook.id)
    const target = { kind: 'webhook', webhook_id } as const
    const at = (n: number) => ({ account_id, target, url, created_at: new Date(n), next_at: new Date(n) })
    const ids = [1, 2].map((n) => `dlv_${String(n).repeat(26)}`)
    await deps.deliveries.insertNew(
      ids.map((id, n) => sampleDelivery({ ...at(n), id, event_id: `evt_${n}`, state: 'dead' })),
    )
    expect((await json('webhooks', 'list')).data).toMatchObject([
      { id: webhook_id, account_id, url, state: 'active', last_delivery: { id: ids[1], state: 'dead' } },
    ])
    for (const which of [[webhook_id], ['--owner', 'one@example.com']]) {
      const page = await json('webhooks', 'deliveries', ...which, '--limit', '1')
      expect([idsOf(page), page.next_cursor]).toEqual([[ids[1]], ids[1]])
      expect(idsOf(await json('webhooks', 'deliveries', ...which, '--after', String(ids[1])))).toEqual([
        ids[0],
      ])
    }
    expect(await json('webhooks', 'replay', String(ids[0]))).toMatchObject({ id: ids[0], state: 'due' })
    expect((await run('webhooks', 'replay', String(ids[0]), '--json')).error()).toMatchObject({
      error: 'delivery_in_progress',
    })
    expect((await run('webhooks', 'deliveries', '--json')).error()).toMatchObject({ error: 'usage' })
  })
})

describe('countersign erase request', () => {
  it('counts with --dry-run, erases once, and says of any other why not', async () => {
    const id = await ask(one, { action: 'Pay SECRET', context: { reason: 'SECRET' } })
    const refusalOf = async (of: string) => (await run('erase', 'request', of, '--json')).error()
    expect(await refusalOf(id)).toMatchObject({ error: 'request_pending' })
    await decideByPasskey(one, id, 'approved')
    const dry = await json('erase', 'request', id, '--dry-run')
    expect(dry).toMatchObject({ request_id: id, erased: false, dry_run: true, votes: 1 })
    expect(await json('requests', 'show', id)).toMatchObject({ action: 'Pay SECRET' })
    // The entry of the decision has to reach the trail first.
    await service.composition.deps.verifications.flush()
    await createRelay(service.composition.deps, NO_LOOPS).run()
    expect(await json('erase', 'request', id)).toMatchObject({ erased: true, dry_run: false })
    expect(JSON.stringify(await json('requests', 'show', id))).not.toContain('SECRET')
    expect((await run('erase', 'request', id)).stdout).toContain(`${id} was erased before`)
    expect(await refusalOf('req_nothing')).toEqual({
      error: 'request_unknown',
      message: 'There is no request req_nothing; see: countersign requests list',
    })
  })

  it('erases a person: says what is in the way, counts, erases, and is found by the id afterwards', async () => {
    const gone = await setUpOwner(service, 'gone@example.com')
    const id = await ask(gone, { action: 'Pay GONE' })
    const refusal = async () => {
      const { code, error } = await run('erase', 'person', 'gone@example.com', '--json')
      return [code, error()]
    }
    const pending = `Pending requests concern gone@example.com: ${id}. Have them decided, or withdraw them: countersign requests cancel ${id}`
    expect(await refusal()).toEqual([1, { error: 'person_pending', message: pending }])
    // Neither decided nor withdrawn, but over, although no service has marked it so.
    await alter(service, 'requests', id, { expires_at: new Date(Date.now() - 1000) })
    expect((await run('requests', 'cancel', id)).code).toBe(1)
    const { id: key } = (await json('key', 'list', '--owner', 'gone@example.com')).data[0]
    const keys = `The account of gone@example.com has API keys that still work: ${key}. Revoke them first: countersign key revoke ${key}`
    expect(await refusal()).toEqual([1, { error: 'person_keys', message: keys }])
    await json('key', 'revoke', key)
    const { account_id } =
      (await service.composition.deps.users.find(gone.owner.userId)) ?? expect.unreachable()
    await joinAccount(service, account_id, other.owner.userId, 'auditor')
    const members = `The account of gone@example.com has other people in it: ${other.owner.userId}. Its owner removes them first, under Members.`
    expect(await refusal()).toEqual([1, { error: 'person_members', message: members }])
    await alter(service, 'accounts', account_id, { members: [] })

    const user_id = gone.owner.userId
    const dry = await json('erase', 'person', 'gone@example.com', '--dry-run')
    expect(dry).toMatchObject({ user_id, erased: false, dry_run: true, requests: 1, votes: 0 })
    expect(await holding(service, 'gone@example.com')).toContain('users')
    const target = { kind: 'callback', request_id: id, api_key_id: key, secret_version: 1 } as const
    const callback = { id: 'dlv_open', event_id: 'evt_open', url: 'http://127.0.0.1:9/', account_id, target }
    await service.composition.deps.deliveries.insertNew([
      sampleDelivery({ ...callback, next_at: new Date() }),
    ])
    const unfinished = await run('erase', 'person', 'gone@example.com')
    expect([unfinished.code, unfinished.stdout.trim()]).toEqual([
      0,
      `${user_id} is not erased yet: a running service still has to hand over 0 requests, to edit 0 cards and to finish 1 deliveries. Run the command again in some minutes: countersign erase person gone@example.com`,
    ])
    await stored(service, 'deliveries').deleteMany({ account_id })
    const left = { requests: 0, cards: 0, deliveries: 0 }
    expect(await json('erase', 'person', 'gone@example.com')).toMatchObject({ user_id, erased: true, left })
    for (const text of ['gone@example.com', 'GONE', 'test key of gone'])
      expect([text, await holding(service, text)]).toEqual([text, []])
    const message =
      'There is no person gone@example.com; see: countersign user list. An erased person is found by their id (usr_…) only.'
    expect(await refusal()).toEqual([1, { error: 'user_not_found', message }])
    expect((await run('erase', 'person', user_id)).stdout).toMatch(
      /^Erased usr_\w+: 1 requests of their account/,
    )
    const { findings } = (await run('audit', 'check', '--json')).json()
    // What other cases have altered in the store is found as well.
    const theirs = [user_id, account_id, key, id]
    expect(
      findings.filter((one: { id?: string }) => one.id === undefined || theirs.includes(one.id)),
    ).toEqual([])
  })

  it('sets for how long an account keeps its requests, and refuses what is no number of days', async () => {
    const of = 'one@example.com'
    expect(await json('user', 'retention', of, '30')).toMatchObject({ retention_days: 30 })
    expect((await run('user', 'retention', of, '0')).code).toBe(0)
    for (const days of ['x', '-1', '1.5'])
      expect([days, (await run('user', 'retention', of, days, '--json')).code]).toEqual([days, 2])
  })
})

describe('countersign demo', () => {
  it('fills a new store with requests in every state, once, and never in production', async () => {
    const { env } = await useDataDir()
    const made = (await cli(['demo', '--json'], { env })).json()
    expect(made.people).toMatchObject([{ email: 'ann@example.com' }, { email: 'ben@example.com' }])
    const words = ['requests', 'list', '--owner', 'ann@example.com', '--json']
    const { data } = (await cli(words, { env })).json()
    expect(
      data.map((one: { status: string; consumed_at?: string; cancelled?: true }) => [
        one.status,
        one.consumed_at !== undefined,
        one.cancelled === true,
      ]),
    ).toEqual([
      ['pending', false, false],
      ['approved', false, false],
      ['withdrawn', false, true],
      ['expired', false, false],
      ['rejected', false, false],
      ['approved', true, false],
    ])
    expect((await cli(['audit', 'check'], { env })).code).toBe(0)
    expect((await cli(['demo', '--json'], { env })).error()).toMatchObject({ error: 'not_empty' })
    const production = { ...env, ...TEST_SECRETS, NODE_ENV: 'production', BASE_URL: 'https://a.example.com' }
    const refused = await cli(['demo', '--json'], {
      env: { ...production, TRUST_PROXY: '0', STORE: 'embedded' },
    })
    expect(refused.error()).toMatchObject({ error: 'production' })
    const shared = await cli(['demo', '--json'], { env: { ...env, MONGODB_URI: inject('storeUri') } })
    expect(shared.error()).toMatchObject({ error: 'production' })
  })
})

describe('countersign completion', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'completion-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Presses Tab in that shell. @returns what the last word becomes, or can become */
  const complete = {
    bash: (script: string, line: string) => `
      source ${script}; COMP_WORDS=(${line}); [[ '${line}' == *' ' ]] && COMP_WORDS+=('')
      COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); _countersign; echo "\${COMPREPLY[*]}"`,
    // A zsh at a terminal of its own: the completion of a script alone would not tell whether Tab works.
    zsh: (script: string, line: string) => `
      zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z "PROMPT='READ''Y> '; source ${script}"
      zpty -r z out '*READY> *'; zpty -n -w z '${line}'$'\\tEND'
      zpty -r z out '*END'; print -r -- "\${out%END}"; zpty -d z`,
    fish: (script: string, line: string) => `source ${script}; complete -C '${line}'`,
  }

  it.each(SHELLS)('completes commands and options in %s, also after values and arguments', async (shell) => {
    const { stdout } = await run('completion', shell)
    expect((await run('completion', 'tcsh')).stderr).toContain('choose among bash, zsh, fish')
    if (!existsSync(`/usr/bin/${shell}`)) return
    const script = join(folder, shell)
    await writeFile(script, stdout)
    const told = (words: string): string[] => {
      const asked = complete[shell](script, `countersign ${words}`)
      const options = {
        encoding: 'utf8',
        timeout: 15_000,
        env: { PATH: process.env.PATH, HOME: folder, TERM: 'dumb' },
      } as const
      return execFileSync(shell, shell === 'fish' ? ['-c', asked] : ['-f', '-c', asked], options)
        .replaceAll('\b', '')
        .trim()
        .split(/\s+/)
    }
    expect(told('requ').at(-1)).toBe('requests')
    expect(told('--json requests li').at(-1)).toBe('list')
    expect(told('requests list --owner ann@example.com --st').at(-1)).toBe('--status')
    expect(told('requests show req_x --js').at(-1)).toBe('--json')
    expect(told('webhooks deliveries --limit 3 whk_x --af').at(-1)).toBe('--after')
    if (shell === 'zsh') return
    expect(told('requests ')).toEqual(expect.arrayContaining(['list', 'show', 'cancel']))
    // A value: files of the shell.
    expect(told('requests list --owner ')).not.toContain('--status')
  })
})
