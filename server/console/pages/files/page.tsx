// Files: buckets, folders and files as a viewer sees them.
import { useRoute } from '../../router.ts'
import { useViewer } from '../../viewer.tsx'
import { BucketList } from './bucket-list.tsx'
import { Folder } from './folder.tsx'
import { UploadList } from './upload-list.tsx'

export default function Files() {
  const { path } = useRoute()
  const { viewer } = useViewer()
  const [, bucket, ...folders] = path
  return (
    <div class="files">
      {bucket === undefined ? (
        <BucketList viewer={viewer} />
      ) : (
        <Folder viewer={viewer} bucket={bucket} folder={folders.join('/')} />
      )}
      <UploadList />
    </div>
  )
}
