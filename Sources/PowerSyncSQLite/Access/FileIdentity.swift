import Foundation

/// Which file it is, whatever its name.
package struct FileIdentity: Hashable, Sendable {
    fileprivate let device: UInt64
    fileprivate let number: UInt64

    /// The file that a name leads to; `nil` when there is none.
    package init?(path: String) {
        guard let status = FileStatus(path: path) else { return nil }
        self = status.identity
    }

    fileprivate init(device: UInt64, number: UInt64) {
        self.device = device
        self.number = number
    }
}

/// What the system says of a file.
package struct FileStatus: Sendable {
    /// Which file it is.
    package let identity: FileIdentity
    /// Its length in bytes.
    package let length: Int64
    /// When its content was changed, in nanoseconds since 1970.
    ///
    /// Programs can set it.
    package let modified: Int64
    /// When its content, its name, its owner or its rights were changed, in nanoseconds since 1970.
    package let changed: Int64

    /// The file that a name leads to; `nil` when there is none.
    package init?(path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        modified = status.modified
        changed = status.changed
        identity = FileIdentity(
            device: UInt64(truncatingIfNeeded: status.st_dev),
            number: UInt64(truncatingIfNeeded: status.st_ino)
        )
        length = Int64(status.st_size)
    }
}
