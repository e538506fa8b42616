import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// The points at which a worker kills itself, named by what has just happened (docs/attachments.md "Crashes").
package enum AttachmentDeath: String, Codable, Sendable, CaseIterable {
    /// A file to save has been begun under a temporary name.
    case saveBegun
    /// A file has its name, and no row yet.
    case fileSaved
    /// The row of a saved file is committed.
    case saveCommitted
    /// An upload is half done.
    case uploadBegun
    /// An upload is complete, and its row is not.
    case uploaded
    /// A download is half done.
    case downloadBegun
    /// A download has its name, and its row does not know.
    case downloadMoved
    /// A deletion is committed.
    case deleteCommitted
    /// The remote file of a deletion is gone.
    case remoteDeleted
    /// A local file is gone, by a deletion or an expiry, and its row is not.
    case localDeleted
    /// The verification has looked for a file.
    case fileLookedFor
    /// The directory has been emptied.
    case directoryRemoved

    /// `kill -9`, if this is where the worker is to die.
    package static func reached(_ point: AttachmentDeath, of task: AttachmentDeath?) {
        guard point == task else { return }
        kill(getpid(), SIGKILL)
        // The signal may come to another thread first.
        while true { pause() }
    }
}
