import { PAGES } from './shell/pages.ts'
import { Router } from './shell/router.ts'

void new Router(PAGES).start()
