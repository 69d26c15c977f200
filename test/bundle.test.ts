import { randomUUID } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { authorityNamed, metadataBlob, withMetadata } from './support/authenticator-maker.ts'
import { waitUntil } from './support/chat-platform.ts'
import { useDataDir } from './support/cli.ts'
import { freePort } from './support/service.ts'
import { startServiceProcess } from './support/service-process.ts'
import { startTeamsConnector } from './support/teams-connector.ts'
import { createTeamsDriver } from './support/teams-driver.ts'
import { startTeamsIdentity } from './support/teams-identity.ts'

// Other tests load the modules one by one. Here is what a start loads later or not at all, as users have it: bundled, names of
// variables shortened, two packages replaced.
it('answers Teams, reads FIDO metadata and counts, from the bundle that users run', async () => {
  const [appId, tenantId, appPassword] = [randomUUID(), randomUUID(), 'a-client-secret~of.the_bot']
  const person = { id: randomUUID(), name: 'Ann', email: 'ann@example.com' }
  const identity = await startTeamsIdentity({ appId, appPassword, tenantId })
  onTestFinished(() => identity.close())
  const platform = { identity, tenantId, people: [person], channels: [], groups: [] }
  const connector = await startTeamsConnector(platform)
  onTestFinished(() => connector.close())
  const { env } = await useDataDir()
  const [port, metricsPort] = [await freePort(), await freePort()]
  const root = authorityNamed('Metadata root')
  const start = (metadata: Record<string, string>) =>
    startServiceProcess({
      ...env,
      ...metadata,
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      TEAMS_APP_ID: appId,
      TEAMS_APP_PASSWORD: appPassword,
      TEAMS_TENANT_ID: tenantId,
      TEAMS_OPENID_URL: identity.openIdUrl,
      TEAMS_LOGIN_URL: identity.loginUrl,
      TEAMS_SERVICE_HOSTS: connector.host,
    })
  const blob = metadataBlob([{ model: randomUUID(), name: 'Token', roots: [root] }], { root })
  const service = await withMetadata(blob, root, start)
  onTestFinished(() => service.end('SIGKILL'))

  const driver = createTeamsDriver({ url: `http://localhost:${port}`, identity, connector, tenantId })
  expect((await driver.message(person, 'help')).status).toBe(200)
  await waitUntil(() => expect(JSON.stringify(connector.in(person.id))).toContain('Countersign in Teams'))
  expect((await driver.message(person, 'help', { authorization: 'Bearer x' })).status).toBe(401)
  const figures = await (await fetch(`http://localhost:${metricsPort}/metrics`)).text()
  expect(figures).toMatch(/^countersign_build_info\{version=/m)
})
