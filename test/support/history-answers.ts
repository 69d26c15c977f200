import { expect, it } from 'vitest'
import { createSequencer } from '../../src/flow/audit/log.ts'
import { createRelay, NO_LOOPS } from '../../src/flow/relay/relay.ts'
import { enrolWithPasskey } from './enrolled.ts'
import { ask, decideByPasskey, setUpOwner } from './live.ts'
import type { TestService } from './service.ts'
import { documented, refused } from './witness.ts'

const ACCOUNT = '/api/v1/account'
const SESSIONS = '/api/v1/me/sessions'

/** Tests that hold the answers about accounts, their history, sessions and inboxes against the document. */
export function itAnswersAboutHistory(service: () => TestService): void {
  it('about an account and its history', async () => {
    const setting = await setUpOwner(service(), 'historian@example.com')
    const { browser } = setting.owner
    const id = await ask(setting)
    const similar = await browser.get(`/api/v1/approvals/${id}/similar`)
    documented('get', '/api/v1/approvals/{id}/similar', 200, similar)
    const proof = `/api/v1/approvals/${id}/proof`
    refused('get', proof.replace(id, '{id}'), 409, await browser.get(proof), 'no_receipt')
    await decideByPasskey(setting, id, 'approved')
    documented('get', proof.replace(id, '{id}'), 200, await browser.get(proof))
    documented('get', ACCOUNT, 200, await browser.get(ACCOUNT))
    documented('patch', ACCOUNT, 200, await browser.patch(ACCOUNT, { name: 'Acme' }))
    const overview = `${ACCOUNT}/overview`
    documented('get', overview, 200, await browser.get(overview))
    refused('get', overview, 404, await browser.get(`${overview}?account=x`), 'not_found')
    const nameless = await browser.patch(ACCOUNT, { name: '' })
    refused('patch', ACCOUNT, 400, nameless, 'invalid_field')
    const history = `${ACCOUNT}/requests`
    documented('get', history, 200, await browser.get(`${history}?status=pending&q=deploy`))
    refused('get', history, 404, await browser.get(`${history}?account=x`), 'not_found')
    for (const file of [`${ACCOUNT}/audit/export`, `${history}/export`]) {
      documented('get', file, 200, await browser.get(`${file}?format=csv`))
      refused('get', file, 400, await browser.get(file), 'format required')
    }
  })

  it('about the log', async () => {
    const { browser } = await enrolWithPasskey(service(), 'monitor@example.com')
    const { deps } = service().composition
    await createRelay(deps, NO_LOOPS).run()
    await createSequencer(deps).run()
    for (const path of ['/.well-known/countersign-log', '/log/checkpoint'])
      documented('get', path, 200, await browser.get(path))
    documented('get', '/log/tile/{path}', 200, await browser.get('/log/tile/0/000.p/1'))
    const { number, origin, restores, note = '' } = (await deps.logs.current()) ?? expect.unreachable()
    const second = { number: number + 1, origin: `${origin}/log/2`, restores, follows: note, size: 0 }
    await deps.logs.begin(second)
    await createSequencer(deps).run()
    documented('get', '/.well-known/countersign-log', 200, await browser.get('/.well-known/countersign-log'))
    documented('get', '/log/{number}/checkpoint', 200, await browser.get('/log/2/checkpoint'))
    documented('get', '/log/{number}/tile/{path}', 200, await browser.get('/log/2/tile/0/000.p/1'))
  })

  it('about sessions and the inbox', async () => {
    const { browser } = await enrolWithPasskey(service(), 'watcher@example.com')
    const { data } = documented('get', SESSIONS, 200, await browser.get(SESSIONS))
    const steps = '/api/v1/me/next-steps'
    documented('get', steps, 200, await browser.get(steps))
    refused('get', steps, 404, await browser.get(`${steps}?account=x`), 'not_found')
    const others = `${SESSIONS}/end-others`
    documented('post', others, 200, await browser.post(others, {}))
    const events = '/api/v1/me/pending/events'
    const { sessions } = service().composition.deps
    const { liveAmong } = sessions
    try {
      // A stream that ends by itself.
      sessions.liveAmong = () => Promise.resolve([])
      documented('get', events, 200, await browser.get(events))
    } finally {
      sessions.liveAmong = liveAmong
    }
    const end = (id: string) => browser.post(`${SESSIONS}/${id}/end`, {})
    refused('post', `${SESSIONS}/{id}/end`, 404, await end('x'), 'not_found')
    documented('post', `${SESSIONS}/{id}/end`, 200, await end(data[0].id))
  })
}
