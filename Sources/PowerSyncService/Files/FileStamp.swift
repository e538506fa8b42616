import Foundation
import PowerSyncSQLite

/// What tells whether a file has been written: which file it is, how long, and when it was changed.
struct FileStamp: Equatable, Sendable {
    private let identity: FileIdentity
    private let size: Int
    private let changedAt: Date

    /// The file that a name leads to, through symbolic links; `nil` when there is none.
    init?(path: String) {
        // A mounted ConfigMap is replaced by changing a link in the middle of the path.
        let path = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        guard let identity = FileIdentity(path: path),
            let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let size = attributes[.size] as? NSNumber,
            let changedAt = attributes[.modificationDate] as? Date
        else { return nil }
        self.identity = identity
        self.size = size.intValue
        self.changedAt = changedAt
    }
}
