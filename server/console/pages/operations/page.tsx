// What operates the server: keys, migrations, settings, the doctor, backups, replicas, and what was changed in the console.
import type { FunctionComponent } from 'preact'
import { Tabs } from '../../parts.tsx'
import { go, useRoute } from '../../router.ts'
import { Backups } from './backups.tsx'
import { Changes } from './changes.tsx'
import { Doctor } from './doctor.tsx'
import { Keys } from './keys.tsx'
import { Migrations } from './migrations.tsx'
import { Settings } from './settings.tsx'

const parts = {
  doctor: { label: 'Doctor', Part: Doctor },
  migrations: { label: 'Migrations', Part: Migrations },
  keys: { label: 'Keys', Part: Keys },
  settings: { label: 'Settings', Part: Settings },
  backups: { label: 'Backups and replicas', Part: Backups },
  changes: { label: 'Changes', Part: Changes },
} as const satisfies Readonly<Record<string, { readonly label: string; readonly Part: FunctionComponent }>>

type Name = keyof typeof parts

const isName = (text: string | undefined): text is Name => text !== undefined && Object.hasOwn(parts, text)

export default function Operations() {
  const { path } = useRoute()
  const chosen = isName(path[1]) ? path[1] : 'doctor'
  const { Part } = parts[chosen]
  return (
    <div class="operations">
      <h1>Operations</h1>
      <Tabs
        label="What to operate"
        tabs={(Object.keys(parts) as readonly Name[]).map((key) => ({ key, label: parts[key].label }))}
        chosen={chosen}
        onChoose={(key) => go(['operations', key])}
      />
      <Part />
    </div>
  )
}
