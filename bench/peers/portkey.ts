/** Portkey's gateway from npm. It has no keys: the client names the upstream and brings the credential. */
import { join } from 'node:path'
import { freePort } from '../../tools/cluster/ports.ts'
import { answers, folderOf, install, type Peer, startPeer } from './peer.ts'

export const startPortkey: Peer = async (upstream) => {
  const folder = folderOf('portkey')
  install(folder, [
    ['npm', 'init', '--yes'],
    ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '@portkey-ai/gateway'],
  ])
  const port = await freePort()
  return startPeer({
    name: 'Portkey',
    port,
    spec: {
      name: 'portkey',
      command: process.execPath,
      args: [
        join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
        `--port=${port}`,
        '--headless',
      ],
      env: { NODE_ENV: 'production' },
      ports: [port],
      ready: () => answers(`http://127.0.0.1:${port}/`),
    },
    headers: ({ answer }) => ({
      authorization: 'Bearer none',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${upstream.port}/${answer}/v1`,
    }),
    model: () => 'bench-upstream',
    // Its messages API reaches no upstream of another API.
    serves: ({ client, upstream }) => client === upstream && client === 'chat',
  })
}
