// The button that saves a file.
import type { Viewer } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Button, Problem } from '../../parts.tsx'
import { signedLink } from './storage.ts'

type DownloadProps = { readonly viewer: Viewer; readonly bucket: string; readonly name: string }

/** By a link of a minute: browsers save it as it arrives, whatever its size. */
export function Download({ viewer, bucket, name }: DownloadProps) {
  const { error, isBusy, run } = useAction()
  const download = async (): Promise<void> => {
    const anchor = document.createElement('a')
    anchor.href = `${await signedLink(viewer, bucket, name, 60)}&download=`
    anchor.click()
  }
  return (
    <>
      <Button isBusy={isBusy} onClick={() => run(download)}>
        Download
      </Button>
      <Problem error={error} />
    </>
  )
}
