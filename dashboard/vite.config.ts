import { defineConfig } from 'vite'
import { pageBuild } from '../scripts/page-build.mjs'

export default defineConfig(pageBuild('dashboard', 'public'))
