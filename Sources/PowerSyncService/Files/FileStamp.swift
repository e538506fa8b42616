import Foundation

/// What tells whether a file has been written: which file it is, how long, and when it was changed.
package struct FileStamp: Equatable, Sendable {
    /// Which file it is, whatever its name.
    struct Identity: Equatable, Sendable {
        private let device: Int
        private let number: Int

        /// The file that a name leads to, through symbolic links; `nil` when there is none.
        init?(path: String) {
            self.init(FileStamp.attributes(of: path))
        }

        fileprivate init?(_ attributes: [FileAttributeKey: Any]?) {
            guard let device = attributes?[.systemNumber] as? NSNumber,
                let number = attributes?[.systemFileNumber] as? NSNumber
            else { return nil }
            self.device = device.intValue
            self.number = number.intValue
        }
    }

    private let identity: Identity
    private let size: Int
    private let changedAt: Date

    /// The file that a name leads to, through symbolic links; `nil` when there is none.
    init?(path: String) {
        guard let attributes = Self.attributes(of: path),
            let identity = Identity(attributes),
            let size = attributes[.size] as? NSNumber,
            let changedAt = attributes[.modificationDate] as? Date
        else { return nil }
        self.identity = identity
        self.size = size.intValue
        self.changedAt = changedAt
    }

    private static func attributes(of path: String) -> [FileAttributeKey: Any]? {
        // A mounted ConfigMap is replaced by changing a link in the middle of the path.
        let path = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        return try? FileManager.default.attributesOfItem(atPath: path)
    }
}
