/** The admin pages of `sluice dev` for the controller and for both programs; the proxy adds its own. */
import type { AdminPage } from '../admin/server.ts'
import type { Controller } from '../controller/main.ts'
import type { RunningProxy } from '../proxy/main.ts'
import { statusAnswer } from './admin/answers.ts'

/** `proxy` returns the proxy of this process once it runs. */
export function devPages(
  controller: Pick<Controller, 'pages'>,
  proxy: () => Pick<RunningProxy, 'status'> | undefined,
): Record<string, AdminPage> {
  return {
    ...controller.pages,
    '/status': async (query) => {
      const { instances } = statusAnswer.parse(await controller.pages['/status']?.(query))
      const status = proxy()?.status()
      return { instances: status === undefined ? instances : [...instances, status] }
    },
  }
}
