import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    name: 'embedded-mongo',
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    setupFiles: ['test/fixed-seed.ts'],
  },
})
