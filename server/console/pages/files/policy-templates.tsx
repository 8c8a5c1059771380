// Policies that most buckets need, as SQL to look at, to try and to keep.
import { useState } from 'preact/hooks'
import { consoleApi } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Button, Dialog, Problem, Snippet, Tabs } from '../../parts.tsx'
import { href } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { policyTemplates } from './policy-list.ts'

type TemplatesProps = { readonly bucket: string; readonly onClose: () => void }

export function PolicyTemplates({ bucket, onClose }: TemplatesProps) {
  const { isDevelopment } = useSession()
  const [key, setKey] = useState(policyTemplates[0].key)
  const [path, setPath] = useState<string>()
  const { error, isBusy, run } = useAction()
  const template = policyTemplates.find((it) => it.key === key) ?? policyTemplates[0]
  const sql = template.sqlFor(bucket)
  const write = async (): Promise<void> => {
    const name = `storage_${bucket}_${key}`
    setPath((await consoleApi<{ path: string }>('migrations', { method: 'POST', body: { name, sql } })).path)
  }
  return (
    <Dialog title={`Policies for ${bucket}`} onClose={onClose} isWide>
      <p>
        Files are rows of <code>storage.objects</code>. Without a policy, only <code>service_role</code> reads and
        writes them.
      </p>
      <Tabs
        label="Template"
        tabs={policyTemplates}
        chosen={template.key}
        onChoose={(chosen) => {
          setKey(chosen)
          setPath(undefined)
        }}
      />
      <p>{template.description}</p>
      <Snippet text={sql} />
      <Problem error={error} />
      {path !== undefined && (
        <p role="status">
          Written to <code>{path}</code>. It takes effect with <code>rowhouse migrate</code>.
        </p>
      )}
      <div class="actions">
        <a class="button" href={href(['sql'], { sql })} onClick={onClose}>
          Open in SQL
        </a>
        {isDevelopment && (
          <Button kind="primary" isBusy={isBusy} isDisabled={path !== undefined} onClick={() => run(write)}>
            Write migration
          </Button>
        )}
      </div>
    </Dialog>
  )
}
