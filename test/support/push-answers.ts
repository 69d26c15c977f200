import { it, onTestFinished } from 'vitest'
import { enrolWithPasskey } from './enrolled.ts'
import { startMailServer } from './mail-server.ts'
import { codeIn } from './mail-setting.ts'
import { usePushService } from './push-setting.ts'
import { type TestService, useService } from './service.ts'
import { documented, refused } from './witness.ts'

const PATH = '/api/v1/me/push'

/** Every answer about notifications in browsers is as the document says. */
export function itAnswersAboutPush(service: () => TestService): void {
  it('about browsers that show notifications', async () => {
    const push = await usePushService()
    const { browser } = await enrolWithPasskey(service(), 'notified@example.com')
    const { public_key } = documented('get', PATH, 200, await browser.get(PATH))
    const { subscription } = push.subscribe(String(public_key))
    const body = { subscription, name: 'laptop' }
    const { device } = documented('post', PATH, 201, await browser.post(PATH, body))
    documented('get', PATH, 200, await browser.get(PATH))
    const id = String(Object(device).id)
    for (const verb of ['test', 'remove']) {
      const path = `${PATH}/{id}/${verb}`
      documented('post', path, 200, await browser.post(`${PATH}/${id}/${verb}`, {}))
    }
    refused('post', `${PATH}/{id}/test`, 404, await browser.post(`${PATH}/${id}/test`, {}), 'not_found')
  })

  it('about who hears what by which channel', async () => {
    const server = await startMailServer()
    onTestFinished(() => server.close())
    const me = '/api/v1/me'
    const { browser } = await enrolWithPasskey(await useService({ env: server.env }), 'mailed@example.com')
    documented('get', `${me}/notifications`, 200, await browser.get(`${me}/notifications`))
    documented('patch', `${me}/notifications`, 200, await browser.patch(`${me}/notifications`, {}))
    documented('post', `${me}/chat/test`, 200, await browser.post(`${me}/chat/test`, {}))
    documented('post', `${me}/mail`, 200, await browser.post(`${me}/mail`, {}))
    const code = codeIn(server.mails[0])
    const confirm = `${me}/mail/confirm`
    refused('post', confirm, 403, await browser.post(confirm, { code: '1' }), 'mail_code_refused')
    documented('post', confirm, 200, await browser.post(confirm, { code }))
    refused('post', `${me}/mail`, 409, await browser.post(`${me}/mail`, {}), 'mail_confirmed')
  })
}
