import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{,embedded-mongo/}test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A poll ends as soon as it holds; the library's one second is too short on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    setupFiles: ['test/support/fixed-seed.ts'],
    globalSetup: ['test/support/global-setup.ts'],
  },
})
