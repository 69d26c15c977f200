import { defineConfig } from 'vite'
import { noPreload, pageBuild } from '../scripts/page-build.mjs'

export default defineConfig(pageBuild('webauthn-page', false, [noPreload]))
