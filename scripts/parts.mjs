// What is built: of which sources, by what, into which folder. `build.mjs` builds it, `dev.mjs` watches it.
export const parts = [
  {
    name: 'embedded-mongo',
    sources: ['embedded-mongo/src', 'embedded-mongo/tsconfig.build.json', 'tsconfig.json'],
    tsc: 'embedded-mongo/tsconfig.build.json',
    output: 'embedded-mongo/dist',
  },
  {
    name: 'server',
    sources: ['src', 'embedded-mongo/src', 'adapters', 'tsconfig.json', 'tsconfig.build.json'],
    tsc: 'tsconfig.build.json',
  },
  {
    name: 'client',
    sources: [
      'packages/client/src',
      'packages/client/vite.config.ts',
      'src/domain',
      'src/signing',
      'package-lock.json',
    ],
    vite: 'packages/client/vite.config.ts',
    output: 'packages/client/dist',
  },
  {
    name: 'client-cli',
    sources: ['packages/client/cli', 'packages/client/src', 'package-lock.json'],
    vite: 'packages/client/cli/vite.config.ts',
    output: 'packages/client/bin',
  },
  {
    name: 'service',
    sources: [
      'src',
      'adapters',
      'embedded-mongo/src',
      'packages/client/cli',
      'packages/client/src',
      'scripts/service.vite.config.mjs',
      'scripts/domain-names.mjs',
      'scripts/no-managed-identity.mjs',
      'package-lock.json',
    ],
    vite: 'scripts/service.vite.config.mjs',
  },
  {
    name: 'pages',
    sources: ['webauthn-page', 'src/domain', 'src/signing', 'scripts/page-build.mjs', 'package-lock.json'],
    vite: 'webauthn-page/vite.config.ts',
  },
  {
    name: 'dashboard',
    sources: [
      'dashboard',
      'webauthn-page',
      'src/domain',
      'src/signing',
      'scripts/page-build.mjs',
      'package-lock.json',
    ],
    vite: 'dashboard/vite.config.ts',
  },
  {
    name: 'service-worker',
    sources: ['dashboard/service-worker', 'webauthn-page/kit/device-name.ts', 'package-lock.json'],
    vite: 'dashboard/service-worker/vite.config.ts',
  },
]

/** The tool and its arguments. */
export function commandOf({ tsc, vite }, ...more) {
  return tsc === undefined
    ? ['vite', 'build', '--config', vite, '--logLevel', 'warn', ...more]
    : ['tsc', '-p', tsc, ...more]
}
