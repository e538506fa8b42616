// A file that imports another library beside PowerSync, and uses its names.
import AnotherLibrary
import PowerSync

func follow(_ request: UploadRequest) -> UploadResponse? { nil }
func show(_ entry: UploadEntry, _ rejection: EntryRejection) { print(entry, rejection) }
