import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// The points at which a worker kills itself, named by what has just happened (`attachments.md` 14.4 and 17.2).
package enum AttachmentDeath: String, Codable, Sendable, CaseIterable {
    /// S-11: a file to save has been begun under a temporary name.
    case saveBegun
    /// S-12: a file has its name, and no row yet.
    case fileSaved
    /// S-13: the row of a saved file is committed.
    case saveCommitted
    /// S-14: an upload is half done.
    case uploadBegun
    /// S-15: an upload is complete, and its row is not.
    case uploaded
    /// S-16: a download is half done.
    case downloadBegun
    /// S-17: a download has its name, and its row does not know.
    case downloadMoved
    /// S-18: a deletion is committed.
    case deleteCommitted
    /// S-19: the remote file of a deletion is gone.
    case remoteDeleted
    /// S-20, S-22: a local file is gone, by a deletion or an expiry, and its row is not.
    case localDeleted
    /// S-21: the verification has looked for a file.
    case fileLookedFor
    /// S-23: the directory has been emptied.
    case directoryRemoved

    /// `kill -9`, if this is where the worker is to die.
    package static func reached(_ point: AttachmentDeath, of task: AttachmentDeath?) {
        guard point == task else { return }
        kill(getpid(), SIGKILL)
        // The signal may come to another thread first.
        while true { pause() }
    }
}
