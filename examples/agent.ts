import { countersign } from '@countersign/client'

const { COUNTERSIGN_URL: url = 'http://localhost:3000', COUNTERSIGN_KEY: key = '' } = process.env
const { INVOICE: invoice = 'INV-1042' } = process.env

try {
  const onRetry = (why = '', seconds = 0) => console.error(`${invoice} waits ${seconds} s: ${why}`)
  const cs = countersign({ url, key, onRetry })
  // Amounts are text: numbers are rounded.
  const pay = cs.guard(({ invoice = '', amount = '' }) => console.log(`pay ${invoice}: ${amount}`), {
    action: ({ invoice }) => `Pay invoice ${invoice}`,
    // An agent that starts again is the same run: it finds its earlier request, asks nobody twice, and pays once.
    for: ({ invoice }) => ['payments', String(invoice)],
    onAsked: ({ reviewUrl }) => console.error(`${invoice} waits for a person: ${reviewUrl}`),
  })
  await pay({ invoice, amount: 'EUR 1834.15' })
} catch (error) {
  console.error(`${invoice} is not paid by this run: ${error}`)
  process.exitCode = 1
}
