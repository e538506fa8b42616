/// What a library uploads, which has common names as others have them.
public enum UploadRequest {}
/// An answer.
public enum UploadResponse {}
/// A part of a request.
public enum UploadEntry {}
/// Why a part is refused.
public enum EntryRejection {}
