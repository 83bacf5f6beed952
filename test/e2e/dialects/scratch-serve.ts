import { openRoom } from './room.ts'
import { tells } from './tell.ts'
const room = await openRoom()
let n = 0
room.upstream.answer((call, res) => {
  const text = call.body.toString()
  const b = JSON.parse(text)
  if (b.thread) { res.writeHead(400, {'content-type':'application/json'}); return void res.end(JSON.stringify({type:'error',error:{type:'invalid_request_error',message:'x',details:{error_code:'thread_unsupported_request'}}})) }
  const has = text.includes('20 degrees')
  const tools = (b.tools ?? []).map((t: any) => t.name ?? t.function?.name).filter(Boolean)
  const final = tools.find((t: string) => /final_result/.test(t))
  const wx = tools.find((t: string) => /weather/.test(t))
  n++
  if (wx && !has) return tells({ reasoning: 'Hmm.', opaque: 'U0VBTA==', text: 'Let me look.', calls: [{ id: `call_${n}a`, name: wx, input: '{"city":"Ulm"}' }, { id: `call_${n}b`, name: wx, input: '{"city":"Rome"}' }] })(call, res)
  if (final) return tells({ calls: [{ id: `call_${n}f`, name: final, input: '{"city":"Ulm","degrees":20}' }] })(call, res)
  if (/json_schema/.test(text)) return tells({ text: '{"city":"Ulm","degrees":20}' })(call, res)
  return tells({ reasoning: 'Done.', opaque: 'U0VBTDI=', text: '20 degrees in both.' })(call, res)
})
console.log('BASE', room.gateway.base)
setTimeout(() => room.close().then(() => process.exit(0)), 500_000)
process.on('SIGTERM', () => room.close().then(() => process.exit(0)))
